// A cell's value as a colour: figure::Pyramid::sample(), figure::normalised() and figure::color_at().
#version 450

layout(set = 0, binding = 0) uniform sampler2D values;     // R32, levels of figure::Pyramid
layout(set = 1, binding = 0) uniform sampler2D colormaps;  // 256 × maps

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
  if (choices.y == kLog) {
    return value > 0.0 && range > 0.0 ? clamp((log(value) - scale.x) / range, 0.0, 1.0) : 0.0;
  }
  float t = range > 0.0 ? clamp((value - scale.x) / range, 0.0, 1.0) : 0.0;
  return choices.y == kGamma && t > 0.0 ? pow(t, scale.z) : t;
}

vec4 color_at(float t) {
  float place = clamp(t, 0.0, 1.0) * 255.0;
  int below = min(int(place), 254);
  vec3 low = texelFetch(colormaps, ivec2(below, choices.x), 0).rgb;
  vec3 high = texelFetch(colormaps, ivec2(below + 1, choices.x), 0).rgb;
  return vec4(mix(low, high, place - float(below)), 1.0);
}

void main() {
  float value = max(pixel.x, pixel.y) <= 1.0 ? fetch(cell, 0) : reduced();
  vec4 color;
  if (is_none(value)) {
    color = vec4(uvec4(mask >> 24, mask >> 16, mask >> 8, mask) & 0xFFu) / 255.0;
  } else {
    color = color_at(normalised(value));
  }
  color.a *= scale.w;
  out_color = vec4(color.rgb * color.a, color.a);
}
