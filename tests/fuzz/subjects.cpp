#include "tests/fuzz/subjects.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "app/cli/command_line.h"
#include "app/cli/console.h"
#include "app/session/session.h"
#include "core/base/atomic_file.h"
#include "models/formats/gguf/gguf_writer.h"
#include "models/formats/tensor_source.h"
#include "tests/support/layouts.h"
#include "tests/support/paths.h"
#include "tests/support/picture.h"
#include "tests/support/pictured_text.h"

namespace locus::fuzz {

namespace {

namespace fs = std::filesystem;
using Command = std::vector<std::string>;

std::string joined(const std::vector<std::int64_t>& ids) {
  std::string text;
  for (const std::int64_t id : ids) {
    text += (text.empty() ? "" : ",") + std::to_string(id);
  }
  return text;
}

void must(const Status& status) {
  if (!status.ok()) {
    throw std::runtime_error(status.error().describe());
  }
}

void must_run(const Command& command) {
  if (run_command(command) != 0) {
    throw std::runtime_error("cannot make the mutation run's files: locus " + command.front() + " failed");
  }
}

bool ends_with_any(const std::string& name, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const char* ending) { return name.ends_with(ending); });
}

class Collection {
 public:
  explicit Collection(fs::path folder) : folder_(std::move(folder)) {}

  std::vector<Subject> collect() {
    add_layouts();
    add_towers();
    add_tokenizers();
    add_ggufs();
    add_split_gguf();
    add_pictures();
    add_texts_with_pictures();
    add_own_text_with_pictures();
    add_processors();
    add_traces();
    add_recipes();
    add_atlases();
    add_published_forms();
    add_others();
    add_numbers();
    return std::move(subjects_);
  }

 private:
  fs::path fresh(const std::string& name) const {
    const fs::path folder = folder_ / name;
    fs::create_directories(folder);
    return folder;
  }

  void add(const fs::path& file, Form form, std::vector<Command> commands) {
    subjects_.push_back({file, form, std::move(commands)});
  }

  void add_layouts() {
    for (const test::Layout& layout : test::layouts()) {
      const fs::path folder = fresh(layout.name);
      const test::WrittenLayout written = test::write_layout(layout, folder);
      Command run{"run", written.path, "--ids", joined(written.ids), "--json"};
      if (layout.image) {
        test::write_picture(folder / "picture.png", 40, 40);
        run = {"run", written.path, "--image", folder / "picture.png", "--json"};
      }
      for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename();
        if (ends_with_any(name, {".json", ".yaml"})) {
          add(entry.path(), Form::kJson, {{"info", written.path, "--json"}, run});
        } else if (name.ends_with(".safetensors") && entry.path() != written.pixels) {
          add(entry.path(), Form::kSafetensors, {{"info", written.path}, run});
        } else if (ends_with_any(name, {".bin", ".pt", ".pth"})) {
          add(entry.path(), Form::kBytes, {{"info", written.path}, run});
        }
      }
      if (!written.pixels.empty()) {
        add(written.pixels, Form::kSafetensors, {{"run", written.path, "--pixels", written.pixels}});
      }
      if (layout.name == "llama") {
        llama_ = written;
      } else if (layout.name == "locus-vit") {
        vit_ = written;
      } else if (layout.name == "locus" || layout.name == "tape" || layout.name == "cope-pt") {
        traced_.push_back(written);
      }
    }
  }

  // Image towers alone: detection tokens, grids of any shape, gated feed-forwards, rotation by rows and columns.
  void add_towers() {
    for (const char* type : {"yolos", "siglip2_vision_model", "aimv2_vision_model", "mlcd"}) {
      const fs::path folder = fresh("towers/" + std::string(type));
      test::write_image_type(type, folder);
      test::write_picture(folder / "picture.png", 32, 32);
      const Command run{"run", folder, "--image", folder / "picture.png", "--json"};
      const Command pixels{"run", folder, "--pixels", folder / "pixels", "--json"};
      add(folder / "config.json", Form::kJson, {{"info", folder, "--json"}, pixels});
      add(folder / "preprocessor_config.json", Form::kJson, {{"info", folder, "--json"}, run});
      add(folder / "model.safetensors", Form::kSafetensors, {{"info", folder}, pixels});
      add(folder / "pixels", Form::kSafetensors, {pixels});
    }
  }

  // Vision-language families, from their pictures and from their pixels, and a trace of one.
  void add_texts_with_pictures() {
    for (const auto& entry : fs::directory_iterator(test::pictured_folder(""))) {
      const std::string family = entry.path().filename();
      if (!fs::exists(entry.path() / "model.safetensors")) {
        continue;
      }
      const fs::path folder = fresh("pictured/" + family);
      fs::copy(entry.path(), folder, fs::copy_options::overwrite_existing | fs::copy_options::recursive);
      const auto input = test::pictured_input(family, true);
      must(input.ok() ? Status() : Status(input.error()));
      const Command start{"run", folder, "--ids", joined(*input->ids)};
      Command run = start;
      for (const fs::path& picture : input->images) {
        run.insert(run.end(), {"--image", folder / picture.filename()});
      }
      Command pixels = start;
      pixels.insert(pixels.end(), {"--pixels", folder / "expected.safetensors"});
      for (const char* name : {"config.json", "preprocessor_config.json"}) {
        add(folder / name, Form::kJson, {{"info", folder, "--json"}, run});
      }
      add(folder / "model.safetensors", Form::kSafetensors, {{"info", folder}, pixels});
      add(folder / "expected.safetensors", Form::kSafetensors, {pixels});
      add(folder / "image0.png", Form::kBytes, {run});
      if (family == "qwen2_vl") {
        std::ofstream(folder / "a.gif", std::ios::binary) << test::grey_gif(6, 24, 16, 20);
        fs::copy_file(fs::path(test::source_dir()) / "tests/models/image/video.webm", folder / "b.webm",
                      fs::copy_options::overwrite_existing);
        for (const char* name : {"a.gif", "b.webm"}) {
          add(folder / name, Form::kBytes, {{"run", folder, "--ids", "1,73,2", "--video", folder / name}});
        }
      }
      if (family == "qwen3_vl" || family == "gemma3") {
        const fs::path trace = fresh("traces") / (family + ".safetensors");
        Command write = run;
        write.insert(write.end(), {"--trace", trace, "--keep", "q,k,logits"});
        must_run(write);
        add_trace(trace, {"reading", "attention", "attention-image", "positions"});
      }
    }
  }

  // A model of texts with pictures in Locus's own layout, and a text with a mark.
  void add_own_text_with_pictures() {
    const fs::path assets = fs::path(test::source_dir()) / "assets";
    const fs::path folder = fresh("pictured/locus");
    for (const char* name : {"config.json", "preprocessor_config.json", "tokenizer.json", "model.safetensors"}) {
      fs::copy_file(assets / "checkpoints/captions-mrope" / name, folder / name);
    }
    fs::copy_file(assets / "samples/circle-square.png", folder / "picture.png");
    const Command run{"run", folder, "--text", "<image> a red circle", "--image", folder / "picture.png"};
    for (const char* name : {"config.json", "tokenizer.json"}) {
      add(folder / name, Form::kJson, {{"info", folder, "--json"}, run});
    }
    // No run: a larger size of pictures is no damage, and takes minutes of work that is asked for.
    add(folder / "preprocessor_config.json", Form::kJson, {{"info", folder, "--json"}});
    add(folder / "model.safetensors", Form::kSafetensors, {{"info", folder}, run});
    add(folder / "picture.png", Form::kBytes, {run});
  }

  // The processors of pictures and videos in one file, beside an older one that counts where that has no such part.
  void add_processors() {
    for (const auto& [family, part] :
         {std::pair{"qwen3_5", "image_processor"}, {"glm46v", "image_processor"}, {"qwen2_vl", "video_processor"}}) {
      const fs::path source = test::pictured_folder(family);
      const fs::path folder = fresh("processors/" + std::string(family));
      fs::copy(source, folder, fs::copy_options::overwrite_existing | fs::copy_options::recursive);
      const auto fields = read_file(source / "preprocessor_config.json", std::size_t{1} << 20);
      must(fields.ok() ? Status() : Status(fields.error()));
      must(write_file(folder / "processor_config.json",
                      "{\"" + std::string(part) + "\": " + *fields + ", \"processor_class\": \"AProcessor\"}"));
      Command run{"run", folder, "--ids", "1,73,2", "--video", folder / "a.gif"};
      if (part == std::string("image_processor")) {
        const auto input = test::pictured_input(family, true);
        must(input.ok() ? Status() : Status(input.error()));
        run = {"run", folder, "--ids", joined(*input->ids)};
        for (const fs::path& picture : input->images) {
          run.insert(run.end(), {"--image", folder / picture.filename()});
        }
      } else {
        std::ofstream(folder / "a.gif", std::ios::binary) << test::grey_gif(6, 24, 16, 20);
      }
      const std::vector<Command> commands{{"info", folder, "--json"}, run};
      add(folder / "processor_config.json", Form::kJson, commands);
      add(folder / "processor_config.json", Form::kJson, commands);
    }
  }

  // A copy of the small Llama with one tokenizer beside it.
  void add_tokenizer(const std::string& name, const std::vector<std::pair<std::string, std::string>>& files,
                     Form form) {
    const fs::path folder = fresh("tokenizers/" + name);
    fs::copy(llama_.path, folder, fs::copy_options::overwrite_existing | fs::copy_options::recursive);
    for (const auto& [file, text] : files) {
      must(write_file(folder / file, text));
    }
    const Command run{"run", folder, "--text", "Hello, wörld! 1234  the <s> cat\n"};
    for (const auto& [file, text] : files) {
      add(folder / file, file.ends_with(".json") ? Form::kJson : form, {run, {"info", folder}});
    }
  }

  void add_tokenizers() {
    const fs::path corpus = fs::path(test::source_dir()) / "tests/fuzz/corpus";
    for (const auto& [kind, file] : {std::pair{"tokenizer", "tokenizer.json"}, {"sentence_piece", "tokenizer.model"}}) {
      for (const auto& entry : fs::directory_iterator(corpus / kind)) {
        const auto text = read_file(entry.path(), std::size_t{1} << 24);
        if (text.ok() && !text->empty()) {
          add_tokenizer(kind + entry.path().filename().string(), {{file, *text}}, Form::kBytes);
        }
      }
    }
    add_tokenizer("words",
                  {{"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nthe\ncat\n##s\n,\n!\n1\n##2\n##3\n"},
                   {"tokenizer_config.json", R"({"tokenizer_class": "BertTokenizerFast", "do_lower_case": true,
                     "cls_token": {"content": "[CLS]"}, "strip_accents": null, "unk_token": "[UNK]"})"},
                   {"special_tokens_map.json", R"({"sep_token": "[SEP]"})"}},
                  Form::kBytes);
    add_tokenizer("merges",
                  {{"vocab.json", R"({"h": 0, "e": 1, "l": 2, "o": 3, "Ġ": 4, "he": 5, "ll": 6, "hell": 7, "t": 8})"},
                   {"merges.txt", "#version: 0.2\nh e\nl l\nhe ll\n"},
                   {"added_tokens.json", R"({"<s>": 9, "  ": 10})"},
                   {"tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "bos_token":
                     "<s>", "added_tokens_decoder": {"9": {"content": "<s>", "special": true, "lstrip": false}}})"}},
                  Form::kBytes);
  }

  // Their own configuration, tokenizer and blocks.
  void add_ggufs() {
    const fs::path source = fs::path(test::source_dir()) / "tests/golden/gguf";
    for (const char* name : {"llama-f16.gguf", "llama-q8_0.gguf", "llama-q4_k.gguf"}) {
      const fs::path file = fresh("ggufs") / name;
      fs::copy_file(source / name, file, fs::copy_options::overwrite_existing);
      const std::vector<Command> commands{
          {"info", file, "--json"}, {"run", file, "--ids", "1,5,9,3"}, {"run", file, "--text", "t36 ab t40"}};
      add(file, Form::kBytes, commands);
      add(file, Form::kBytes, commands);
    }
    // Of hybrids, whose tensors are reshaped and cut into experts.
    for (const char* name : {"qwen35moe.gguf", "kimi-linear.gguf"}) {
      const fs::path file = fresh("ggufs") / name;
      fs::copy_file(fs::path(test::source_dir()) / "tests/conformance/gguf" / name, file,
                    fs::copy_options::overwrite_existing);
      add(file, Form::kBytes, {{"info", file, "--json"}, {"run", file, "--ids", "1,5,9,3"}});
    }
  }

  // A model in two files, the first of which has its values and half of its tensors.
  void add_split_gguf() {
    const auto whole = formats::open_tensors(fs::path(test::source_dir()) / "tests/golden/gguf/llama-f16.gguf");
    must(whole.ok() ? Status() : Status(whole.error()));
    const std::vector<formats::TensorInfo>& tensors = (*whole)->tensors();
    const std::shared_ptr<const formats::GgufMetadata> metadata = (*whole)->gguf();
    const std::size_t half = tensors.size() / 2;
    const fs::path folder = fresh("split");
    std::vector<fs::path> files;
    for (std::uint32_t part = 0; part < 2; ++part) {
      formats::GgufValues values;
      for (const auto& [name, value] : metadata->values()) {
        if (part == 0) {
          values.copy(name, value);
        }
      }
      values.integer("split.no", part);
      values.integer("split.count", 2);
      values.integer("split.tensors.count", static_cast<std::uint32_t>(tensors.size()));
      std::vector<formats::GgufOutput> outputs;
      for (std::size_t n = part == 0 ? 0 : half; n < (part == 0 ? half : tensors.size()); ++n) {
        outputs.push_back({tensors[n].name, tensors[n].shape, blocks::format_of("F32"), [&tensors, n] {
                             return std::vector<float>(static_cast<std::size_t>(tensors[n].elements()), 0.01F);
                           }});
      }
      files.push_back(folder / ("m-0000" + std::to_string(part + 1) + "-of-00002.gguf"));
      must(formats::write_gguf(files.back(), values, outputs));
    }
    for (const fs::path& file : files) {
      add(file, Form::kBytes, {{"info", files.front(), "--json"}, {"run", files.back(), "--ids", "1,5,9,3"}});
    }
  }

  void add_pictures() {
    const fs::path folder = fresh("pictures");
    for (const char* name : {"a.png", "b.jpg", "c.webp", "d.tiff"}) {
      test::write_colours(folder / name, "rgb");
      add(folder / name, Form::kBytes, {{"run", vit_.path, "--image", folder / name}});
    }
    constexpr int kProgressive = 2;
    test::write_colours(folder / "e.jpg", "rgb", {kProgressive, 1});
    test::write_colours(folder / "f.png", "grey16");
    for (const char* name : {"e.jpg", "f.png"}) {
      add(folder / name, Form::kBytes, {{"run", vit_.path, "--image", folder / name}});
    }
  }

  void add_trace(const fs::path& trace, const std::vector<std::string>& views) {
    std::vector<Command> commands;
    for (const std::string& view : views) {
      commands.push_back({"figure", view, trace, "--head", "1", "--data", folder_ / "out.npy"});
    }
    add(trace, Form::kSafetensors, commands);
    add(trace, Form::kSafetensors, std::move(commands));  // the reader with the most to say: twice as often
  }

  void add_traces() {
    const fs::path folder = fresh("traces");
    const auto keep = [&](const test::WrittenLayout& from, const Command& input, const std::string& name) {
      Command run{"run", from.path};
      run.insert(run.end(), input.begin(), input.end());
      const fs::path trace = folder / (name + ".safetensors");
      run.insert(run.end(), {"--trace", trace, "--keep", "all"});
      must_run(run);
      return trace;
    };
    add_trace(keep(llama_, {"--ids", joined(llama_.ids)}, "llama"), {"attention", "heads", "pe-dot-product"});
    int number = 0;
    for (const test::WrittenLayout& each : traced_) {
      add_trace(keep(each, {"--ids", joined(each.ids)}, "trace" + std::to_string(number++)),
                {"attention", "gates", "positions", "pe-dot-product"});
    }
    test::write_picture(folder / "picture.png", 40, 24);
    add_trace(keep(vit_, {"--image", folder / "picture.png"}, "vit"),
              {"attention", "attention-image", "attention-grid", "pe-dot-product-2d"});
    // Another program's: a stored map and a grid.
    const std::vector<float> weights(std::size_t{2} * 13 * 13, 1.0F / 13);
    must(formats::write_safetensors(
        folder / "theirs.safetensors",
        {{"layers.0.attention", formats::DType::kF32, {2, 13, 13}, std::as_bytes(std::span(weights))}},
        {{"locus.format", "trace/1"},
         {"model", "theirs"},
         {"causal", "false"},
         {"window", "0"},
         {"tokens", R"(["a","b","c","d","e","f","g","h","i","j","k","l","m"])"},
         {"image_grid", R"({"rows": 3, "columns": 4, "cls": 1, "registers": 0})"}}));
    add_trace(folder / "theirs.safetensors", {"attention", "attention-image", "distance-profile"});
  }

  void add_recipe(const std::string& view, const test::WrittenLayout& from, const Command& input,
                  const Command& options = {}) {
    const fs::path data = fresh("recipes") / (view + ".npy");
    Command figure{"figure", view, from.path};
    figure.insert(figure.end(), input.begin(), input.end());
    figure.insert(figure.end(), options.begin(), options.end());
    figure.insert(figure.end(), {"--data", data});
    must_run(figure);
    const fs::path recipe = data.string() + ".recipe.json";
    const fs::path again = folder_ / "again.npy";  // its own recipe goes beside it
    for (int n = 0; n < 3; ++n) {
      add(recipe, Form::kJson, {{"figure", "--recipe", recipe, "--data", again}});
    }
  }

  // With examples, as a file and as a folder for HeadVis.
  void add_atlases() {
    const fs::path folder = fresh("atlases");
    const fs::path assets = fs::path(test::source_dir()) / "assets";
    const fs::path file = folder / "acts.safetensors";
    const Command windows{"--windows", "6", "--length", "16", "--replicates", "2", "--top", "2", "--sample", "1"};
    Command make{"atlas", assets / "checkpoints/text-rope", "--corpus", assets / "samples/alice.txt"};
    make.insert(make.end(), {"--what", "heads,examples", "--out", file, "--export-headvis", folder / "headvis"});
    make.insert(make.end(), windows.begin(), windows.end());
    must_run(make);
    const auto reads = [&](const fs::path& path) {
      return std::vector<Command>{
          {"info", path, "--json"},
          {"figure", "examples", path, "--layer", "0", "--head", "0", "--data", folder_ / "examples.csv"}};
    };
    add(file, Form::kSafetensors, reads(file));
    for (const char* name : {"config.json", "scatter_data.json", "heads/L0H0.json"}) {
      add(folder / "headvis" / name, Form::kJson, reads(folder / "headvis"));
    }
  }

  void add_recipes() {
    const Command ids{"--ids", joined(llama_.ids)};
    add_recipe("attention", llama_, ids, {"--reference", llama_.path, "--query", "3"});
    add_recipe("attention-grid", llama_, ids);
    add_recipe("attention-text", llama_, ids, {"--query", "2", "--key", "1"});
    add_recipe("pe-dot-product", llama_, ids, {"--rope-scaling", "linear:2"});
    add_recipe("heads", llama_, ids);
    add_recipe("distance-profile", llama_, ids);
    add_recipe("attention-image", vit_, {"--image", folder_ / "pictures/a.png"}, {"--query", "1"});
  }

  // Folders of sentence-transformers, adapters beside their bases, files of the authors' own programs.
  void add_published_forms() {
    const fs::path golden = fs::path(test::source_dir()) / "tests/golden";
    const fs::path source = golden / "variants";
    const fs::path copies = fresh("published");
    for (const char* form :
         {"fp8-blocks", "fp8-channels", "fp8-static", "mxfp4", "gptq", "gptq-order", "gptq-v2", "awq", "packed-int4",
          "packed-int8", "int8-channels", "mlx-4bit", "mlx-mixed", "nf4", "fp4", "llm-int8"}) {
      const fs::path folder = copies / form;
      fs::copy(golden / "quantised" / form, folder, fs::copy_options::overwrite_existing | fs::copy_options::recursive);
      const std::vector<Command> commands{{"info", folder, "--json"}, {"run", folder, "--ids", "1,5,9,3", "--json"}};
      add(folder / "config.json", Form::kJson, commands);
      add(folder / "model.safetensors", Form::kSafetensors, commands);
    }
    for (const char* form : {"sentence", "adapters", "native"}) {
      fs::copy(source / form, copies / form, fs::copy_options::overwrite_existing | fs::copy_options::recursive);
      for (const auto& entry : fs::recursive_directory_iterator(copies / form)) {
        const std::string name = entry.path().filename();
        fs::path folder = entry.path().parent_path();
        if (entry.is_directory() || name == "config.json" || name == "expected.safetensors") {
          continue;
        }
        if (form == std::string("sentence") && folder.parent_path() != copies / form) {
          folder = folder.parent_path();  // of one step: 1_Pooling/config.json
        }
        const std::vector<Command> commands{{"info", folder, "--json"}, {"run", folder, "--ids", "1,5,9,3", "--json"}};
        add(entry.path(),
            name.ends_with(".json")  ? Form::kJson
            : name.ends_with(".pth") ? Form::kBytes
                                     : Form::kSafetensors,
            commands);
      }
    }
  }

  // Weights and traces whose values are damaged: what runs, measures and draws them. Commands of one kind are spread
  // over the checkpoints.
  void add_numbers() {
    const fs::path source = fs::path(test::source_dir()) / "assets/checkpoints";
    const fs::path out = folder_ / "out.npy";
    for (const char* name : {"text-cope", "text-rope", "text-tape", "text-seqpe", "text-learned", "text-alibi"}) {
      if (!fs::exists(source / name)) {
        continue;
      }
      const fs::path folder = fresh("numbers") / name;
      fs::copy(source / name, folder, fs::copy_options::overwrite_existing | fs::copy_options::recursive);
      const Command text{"--text", "ROMEO: I will not"};
      const auto with = [&](Command command) {
        command.insert(command.end(), text.begin(), text.end());
        return command;
      };
      const fs::path weights = folder / "model.safetensors";
      const std::vector<std::vector<Command>> kinds{
          {with({"run", folder, "--json"}), with({"verify", folder})},
          {with({"run", folder, "--generate", "3", "--json"}), with({"figure", "heads", folder, "--data", out})},
          {with({"figure", "attention", folder, "--head", "mean", "--layer", "1", "--data", out}),
           with({"figure", "logit-lens", folder, "--data", out})},
          {with({"effect", folder, "--edit", "head 0.1 zero", "--edit", "scale 1.1 by 1e20", "--json"}),
           with({"figure", "attention-grid", folder, "--data", out})},
          {with({"figure", "distance-profile", folder, "--data", out}),
           with({"figure", "position-attention", folder, "--data", out}),
           with({"figure", "pe-dot-product", folder, "--data", out})},
      };
      for (const std::vector<Command>& commands : kinds) {
        add(weights, Form::kNumbers, commands);
      }
    }
    const fs::path traces = fresh("number-traces");
    std::vector<fs::path> kept;
    for (const auto& entry : fs::directory_iterator(folder_ / "traces")) {
      if (entry.path().extension() == ".safetensors") {
        kept.push_back(traces / entry.path().filename());
        fs::copy_file(entry.path(), kept.back(), fs::copy_options::overwrite_existing);
      }
    }
    for (const fs::path& trace : kept) {
      const auto figure = [&](const char* view, const char* head) {
        return Command{"figure", view, trace, "--head", head, "--data", out};
      };
      add(trace, Form::kNumbers, {figure("attention", "1"), figure("heads", "1"), figure("distance-profile", "1")});
      add(trace, Form::kNumbers, {figure("attention", "mean"), figure("attention-grid", "1"), figure("gates", "1")});
      add(trace, Form::kNumbers,
          {figure("positions", "1"), figure("pe-dot-product", "1"), figure("distance-bias", "1")});
    }
    for (const test::Layout& layout : test::layouts()) {
      if (layout.image || layout.family.empty()) {
        continue;
      }
      const fs::path weights = folder_ / layout.name / "model.safetensors";
      if (fs::exists(weights)) {
        add(weights, Form::kNumbers, {{"run", weights.parent_path(), "--ids", "1,2,3,4,5", "--json"}});
      }
    }
  }

  void add_others() {
    const fs::path source = fs::path(test::source_dir()) / "assets";
    const fs::path session = fresh("sessions") / "first-light.locus.json";
    fs::copy_file(source / "sessions/first-light.locus.json", session, fs::copy_options::overwrite_existing);
    fs::copy(source / "samples", fresh("samples"), fs::copy_options::overwrite_existing | fs::copy_options::recursive);
    for (int n = 0; n < 6; ++n) {
      add(session, Form::kJson, {{"session", session}});
    }
    const fs::path trained = fresh("trained");
    fs::copy(source / "checkpoints/addition-rope", trained,
             fs::copy_options::overwrite_existing | fs::copy_options::recursive);
    if (fs::exists(trained / "training.json")) {
      add(trained / "training.json", Form::kJson,
          {{"figure", "task-accuracy", trained, "--data", folder_ / "out.npy"}, {"info", trained}});
    }
    const fs::path pickles = fresh("pickles");
    for (const auto& entry : fs::directory_iterator(fs::path(test::source_dir()) / "tests/models/pickles/good")) {
      if (entry.path().extension() == ".pt") {
        fs::copy_file(entry.path(), pickles / entry.path().filename(), fs::copy_options::overwrite_existing);
        add(pickles / entry.path().filename(), Form::kBytes, {{"info", pickles / entry.path().filename()}});
      }
    }
  }

  fs::path folder_;
  std::vector<Subject> subjects_;
  test::WrittenLayout llama_;
  test::WrittenLayout vit_;
  std::vector<test::WrittenLayout> traced_;  // CoPE's, TAPE's
};

// Reads a session as the window does.
int read_session(const std::string& file) {
  const auto session = session::load_session(file);
  cli::Console console;
  return session.ok() ? 0 : console.fail(session.error());
}

}  // namespace

std::vector<Subject> write_subjects(const fs::path& folder) {
  std::vector<Subject> subjects = Collection(folder).collect();
  // Folders list their entries in no order.
  std::stable_sort(subjects.begin(), subjects.end(),
                   [](const Subject& a, const Subject& b) { return a.file < b.file; });
  return subjects;
}

int run_command(const std::vector<std::string>& command) {
  if (command.front() == "session") {
    return read_session(command.at(1));
  }
  std::vector<std::string> words{"locus"};
  words.insert(words.end(), command.begin(), command.end());
  words.insert(words.end(), {"--threads", "1"});
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  return cli::run_command_line(static_cast<int>(words.size()), arguments.data(), nullptr);
}

// Words end with a byte that no path or word here has.
std::string to_text(const std::vector<Subject>& subjects) {
  std::string text;
  for (const Subject& subject : subjects) {
    text += std::to_string(static_cast<int>(subject.form)) + subject.file.string();
    for (const auto& command : subject.commands) {
      text += '\x1D';
      for (const std::string& word : command) {
        text += '\x1F' + word;
      }
    }
    text += '\x1E';
  }
  return text;
}

std::vector<Subject> subjects_of(const std::string& text) {
  std::vector<Subject> subjects;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line, '\x1E');) {
    std::istringstream parts(line);
    std::string part;
    std::getline(parts, part, '\x1D');
    Subject subject{part.substr(1), static_cast<Form>(part.front() - '0'), {}};
    while (std::getline(parts, part, '\x1D')) {
      std::istringstream words(part.substr(1));
      auto& command = subject.commands.emplace_back();
      for (std::string word; std::getline(words, word, '\x1F');) {
        command.push_back(word);
      }
    }
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

}  // namespace locus::fuzz
