// A cell's value as a colour: figure::Pyramid::sample(), figure::normalised() and figure::color_at().
#version 450

layout(set = 0, binding = 0) uniform sampler2D values;     // R32, levels of figure::Pyramid
layout(set = 1, binding = 0) uniform sampler2D colormaps;  // 4096 × maps

// A pipeline a choice: software drivers evaluate both sides of every branch.
layout(constant_id = 0) const bool kReduces = false;  // pixels cover more than a cell
layout(constant_id = 1) const uint kTransfer = 0u;

layout(location = 0) in vec2 cell;
layout(location = 1) flat in ivec4 texels;
layout(location = 2) flat in vec4 scale;
layout(location = 3) flat in uvec4 choices;
layout(location = 4) flat in uint mask;
layout(location = 5) flat in vec2 pixel;

layout(location = 0) out vec4 out_color;  // premultiplied

const uint kLog = 1u;
const uint kGamma = 2u;
const uint kMax = 0u;
const float kMaxTaps = 16.0;

// By its bits: compilers may assume that there are no NaNs.
bool is_none(float value) {
  return (floatBitsToUint(value) & 0x7FFFFFFFu) > 0x7F800000u;
}

float fetch(vec2 at, int level) {
  ivec2 whole = ivec2(clamp(floor(at), vec2(0.0), vec2(texels.zw - 1)));
  ivec2 last = max(ivec2(1), texels.zw >> level) - 1;
  return texelFetch(values, (texels.xy >> level) + min(whole >> level, last), level).r;
}

float reduced() {
  float least = max(1.0, min(pixel.x, pixel.y));
  float most = max(1.0, max(pixel.x, pixel.y));
  float wanted = max(floor(log2(least)), ceil(log2(most / kMaxTaps)));
  int level = clamp(int(wanted), 0, int(choices.w));
  ivec2 taps = ivec2(clamp(ceil(pixel / exp2(float(level)) - 1e-4), vec2(1.0), vec2(kMaxTaps)));
  float result = 0.0;
  float count = 0.0;
  for (int r = 0; r < taps.y; ++r) {
    for (int c = 0; c < taps.x; ++c) {
      vec2 offset = ((vec2(c, r) + 0.5) / vec2(taps) - 0.5) * pixel;
      float value = fetch(cell + offset, level);
      if (!is_none(value)) {
        result = choices.z == kMax ? (count == 0.0 ? value : max(result, value)) : result + value;
        count += 1.0;
      }
    }
  }
  if (count == 0.0) {
    return uintBitsToFloat(0x7FC00000u);
  }
  return choices.z == kMax ? result : result / count;
}

float normalised(float value) {
  float range = scale.y - scale.x;
  if (kTransfer == kLog) {
    return value > 0.0 && range > 0.0 ? clamp((log(value) - scale.x) / range, 0.0, 1.0) : 0.0;
  }
  float t = range > 0.0 ? clamp((value - scale.x) / range, 0.0, 1.0) : 0.0;
  return kTransfer == kGamma && t > 0.0 ? pow(t, scale.z) : t;
}

void main() {
  float value = kReduces ? reduced() : fetch(cell, 0);
  float t = is_none(value) ? 0.0 : normalised(value);
  vec4 color = texelFetch(colormaps, ivec2(t * 4095.0 + 0.5, choices.x), 0);
  if (is_none(value)) {
    color = vec4(uvec4(mask >> 24, mask >> 16, mask >> 8, mask) & 0xFFu) / 255.0;
  }
  color.a *= scale.w;
  out_color = vec4(color.rgb * color.a, color.a);
}
