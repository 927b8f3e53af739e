#include "renderers/vulkan/pipelines.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace locus::vulkan {
namespace {

constexpr std::uint32_t kFillFragment[] = {
#include "shaders/fill.frag.inc"
};
constexpr std::uint32_t kFillVertex[] = {
#include "shaders/fill.vert.inc"
};
constexpr std::uint32_t kMapFragment[] = {
#include "shaders/map.frag.inc"
};
constexpr std::uint32_t kMapVertex[] = {
#include "shaders/map.vert.inc"
};
constexpr std::uint32_t kShapeFragment[] = {
#include "shaders/shape.frag.inc"
};
constexpr std::uint32_t kShapeVertex[] = {
#include "shaders/shape.vert.inc"
};

using Attributes = std::vector<VkVertexInputAttributeDescription>;

Attributes shape_attributes() {
  constexpr VkFormat kVec4 = VK_FORMAT_R32G32B32A32_SFLOAT;
  return {{0, 0, kVec4, offsetof(ShapeInstance, top)},  {1, 0, kVec4, offsetof(ShapeInstance, bottom)},
          {2, 0, kVec4, offsetof(ShapeInstance, uv)},   {3, 0, kVec4, offsetof(ShapeInstance, color)},
          {4, 0, kVec4, offsetof(ShapeInstance, kind)}, {5, 0, kVec4, offsetof(ShapeInstance, clip)}};
}

Attributes fill_attributes() {
  constexpr VkFormat kVec4 = VK_FORMAT_R32G32B32A32_SFLOAT;
  return {{0, 0, kVec4, offsetof(ShapeInstance, top)},
          {1, 0, kVec4, offsetof(ShapeInstance, bottom)},
          {3, 0, kVec4, offsetof(ShapeInstance, color)}};
}

Attributes map_attributes() {
  constexpr VkFormat kVec4 = VK_FORMAT_R32G32B32A32_SFLOAT;
  return {{0, 0, kVec4, offsetof(MapInstance, place)},
          {1, 0, kVec4, offsetof(MapInstance, cells)},
          {2, 0, VK_FORMAT_R32G32B32A32_SINT, offsetof(MapInstance, texels)},
          {3, 0, kVec4, offsetof(MapInstance, scale)},
          {4, 0, VK_FORMAT_R32G32B32A32_UINT, offsetof(MapInstance, choices)},
          {5, 0, VK_FORMAT_R32G32_UINT, offsetof(MapInstance, colors)},
          {6, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(MapInstance, extent)},
          {7, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(MapInstance, hatch)}};
}

Result<ShaderHandle> make_shader(VkDevice device, std::span<const std::uint32_t> code) {
  auto info = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  info.codeSize = code.size_bytes();
  info.pCode = code.data();
  return created<ShaderHandle>(device, vkCreateShaderModule, info, "vkCreateShaderModule");
}

Result<PipelineLayoutHandle> make_layout(VkDevice device, const std::vector<VkDescriptorSetLayout>& sets) {
  const VkPushConstantRange constants{VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(FrameConstants)};
  auto info = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  info.setLayoutCount = static_cast<std::uint32_t>(sets.size());
  info.pSetLayouts = sets.data();
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &constants;
  return created<PipelineLayoutHandle>(device, vkCreatePipelineLayout, info, "vkCreatePipelineLayout");
}

// Differences between the pipelines.
struct Program {
  std::span<const std::uint32_t> vertex;
  std::span<const std::uint32_t> fragment;
  Attributes attributes;
  std::uint32_t stride = 0;
  bool blends = true;
  std::array<std::uint32_t, 2> constants{};  // of map.frag: kTaps, kTransfer
};

VkPipelineColorBlendAttachmentState premultiplied_blend(bool enabled) {
  VkPipelineColorBlendAttachmentState blend{};
  blend.blendEnable = enabled ? VK_TRUE : VK_FALSE;
  blend.srcColorBlendFactor = VK_BLEND_FACTOR_ONE;
  blend.dstColorBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA;
  blend.colorBlendOp = VK_BLEND_OP_ADD;
  blend.srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE;
  blend.dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA;
  blend.alphaBlendOp = VK_BLEND_OP_ADD;
  blend.colorWriteMask =
      VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT;
  return blend;
}

Result<PipelineHandle> make_pipeline(VkDevice device, const Program& program, VkPipelineLayout layout,
                                     VkRenderPass render_pass, VkSampleCountFlagBits samples) {
  LOCUS_TRY(const ShaderHandle vertex, make_shader(device, program.vertex));
  LOCUS_TRY(const ShaderHandle fragment, make_shader(device, program.fragment));
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  const std::array<VkSpecializationMapEntry, 2> entries = {VkSpecializationMapEntry{0, 0, kWord},
                                                           VkSpecializationMapEntry{1, kWord, kWord}};
  const VkSpecializationInfo constants{static_cast<std::uint32_t>(entries.size()), entries.data(), 2 * kWord,
                                       program.constants.data()};
  std::array<VkPipelineShaderStageCreateInfo, 2> stages{};
  stages[0].sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
  stages[0].module = vertex.get();
  stages[0].pName = "main";
  stages[1] = stages[0];
  stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
  stages[1].module = fragment.get();
  stages[1].pSpecializationInfo = &constants;
  const VkVertexInputBindingDescription binding{0, program.stride, VK_VERTEX_INPUT_RATE_INSTANCE};
  auto input =
      structure<VkPipelineVertexInputStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO);
  input.vertexBindingDescriptionCount = 1;
  input.pVertexBindingDescriptions = &binding;
  input.vertexAttributeDescriptionCount = static_cast<std::uint32_t>(program.attributes.size());
  input.pVertexAttributeDescriptions = program.attributes.data();
  auto assembly =
      structure<VkPipelineInputAssemblyStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO);
  assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
  auto viewport = structure<VkPipelineViewportStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO);
  viewport.viewportCount = 1;
  viewport.scissorCount = 1;
  auto raster =
      structure<VkPipelineRasterizationStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO);
  raster.cullMode = VK_CULL_MODE_NONE;
  raster.lineWidth = 1;
  auto multisample =
      structure<VkPipelineMultisampleStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO);
  multisample.rasterizationSamples = samples;
  auto depth =
      structure<VkPipelineDepthStencilStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO);
  const VkPipelineColorBlendAttachmentState attachment = premultiplied_blend(program.blends);
  auto blend = structure<VkPipelineColorBlendStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO);
  blend.attachmentCount = 1;
  blend.pAttachments = &attachment;
  const std::array<VkDynamicState, 2> dynamics = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
  auto dynamic = structure<VkPipelineDynamicStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO);
  dynamic.dynamicStateCount = static_cast<std::uint32_t>(dynamics.size());
  dynamic.pDynamicStates = dynamics.data();
  auto info = structure<VkGraphicsPipelineCreateInfo>(VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO);
  info.stageCount = static_cast<std::uint32_t>(stages.size());
  info.pStages = stages.data();
  info.pVertexInputState = &input;
  info.pInputAssemblyState = &assembly;
  info.pViewportState = &viewport;
  info.pRasterizationState = &raster;
  info.pMultisampleState = &multisample;
  info.pDepthStencilState = &depth;
  info.pColorBlendState = &blend;
  info.pDynamicState = &dynamic;
  info.layout = layout;
  info.renderPass = render_pass;
  VkPipeline pipeline = VK_NULL_HANDLE;
  LOCUS_CHECK(check(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
                    "vkCreateGraphicsPipelines"));
  return PipelineHandle(device, pipeline);
}

}  // namespace

Result<Pipelines> Pipelines::create(const TextureFactory& factory, VkRenderPass render_pass,
                                    VkSampleCountFlagBits samples) {
  Pipelines result;
  const VkDevice device = factory.gpu().device;
  result.device_ = device;
  result.render_pass_ = render_pass;
  result.samples_ = samples;
  LOCUS_TRY(result.shape_layout_, make_layout(device, {factory.picture_layout()}));
  LOCUS_TRY(result.map_layout_, make_layout(device, {factory.texels_layout(), factory.texels_layout()}));
  const VkPipelineLayout layout = result.shape_layout_.get();
  const Program fills{kFillVertex, kFillFragment, fill_attributes(), sizeof(ShapeInstance), true, {}};
  const Program shapes{kShapeVertex, kShapeFragment, shape_attributes(), sizeof(ShapeInstance), true, {}};
  LOCUS_TRY(result.fills_, make_pipeline(device, fills, layout, render_pass, samples));
  LOCUS_TRY(result.shapes_, make_pipeline(device, shapes, layout, render_pass, samples));
  return result;
}

Status Pipelines::need(const MapKind& kind) {
  PipelineHandle& pipeline = maps_[index(kind)];
  if (!pipeline) {
    const Program program{kMapVertex,          kMapFragment, map_attributes(),
                          sizeof(MapInstance), !kind.opaque, {kind.taps, transfer(kind)}};
    LOCUS_TRY(pipeline, make_pipeline(device_, program, map_layout_.get(), render_pass_, samples_));
  }
  return {};
}

}  // namespace locus::vulkan
