// A cell's value as a colour: figure::Pyramid::sample(), figure::normalised() and figure::color_at(). The level and the
// number of samples are the same for a whole quad: they are chosen before, and the texture is that level alone.
#version 450

layout(set = 0, binding = 0) uniform sampler2D values;     // R32, one level of figure::Pyramid
layout(set = 1, binding = 0) uniform sampler2D colormaps;  // 4096 × maps

// A pipeline a choice: software drivers evaluate both sides of every branch.
layout(constant_id = 0) const uint kTaps = 0u;  // samples along each axis of a pixel: 1, 2, or 0 for any number
layout(constant_id = 1) const uint kTransfer = 0u;

layout(location = 0) in vec2 cell;            // of the level
layout(location = 1) flat in ivec4 texels;    // the part's first texel, its last cell
layout(location = 2) flat in vec4 scale;      // low, 1 / range, gamma, opacity
layout(location = 3) flat in uvec4 choices;   // colormap, reduction, samples across and down
layout(location = 4) flat in vec4 mask;       // premultiplied
layout(location = 5) flat in vec2 extent;     // cells of the level a pixel covers

layout(location = 0) out vec4 out_color;  // premultiplied

const uint kLog = 1u;
const uint kGamma = 2u;
const uint kMax = 0u;
const float kNone = -3.2e38;  // below: no value (FieldTextures writes it so)

float fetch(vec2 at) {
  return texelFetch(values, texels.xy + clamp(ivec2(floor(at)), ivec2(0), texels.zw), 0).r;
}

float reduce4(float a, float b, float c, float d) {
  float largest = max(max(a, b), max(c, d));
  if (choices.y == kMax) {
    return largest;
  }
  vec4 all = vec4(a, b, c, d);
  vec4 valid = vec4(greaterThan(all, vec4(kNone)));
  float count = dot(valid, vec4(1.0));
  return count > 0.0 ? dot(mix(vec4(0.0), all, greaterThan(all, vec4(kNone))), vec4(1.0)) / count : largest;
}

float reduced() {
  ivec2 taps = ivec2(choices.zw);
  float largest = -3.4e38;
  float sum = 0.0;
  float count = 0.0;
  for (int r = 0; r < taps.y; ++r) {
    for (int c = 0; c < taps.x; ++c) {
      float value = fetch(cell + ((vec2(c, r) + 0.5) / vec2(taps) - 0.5) * extent);
      largest = max(largest, value);
      sum += value > kNone ? value : 0.0;
      count += value > kNone ? 1.0 : 0.0;
    }
  }
  return choices.y == kMax || count == 0.0 ? largest : sum / count;
}

float sampled() {
  if (kTaps == 1u) {
    return fetch(cell);
  }
  if (kTaps == 2u) {
    vec2 low = cell - 0.25 * extent;
    vec2 high = cell + 0.25 * extent;
    return reduce4(fetch(low), fetch(vec2(high.x, low.y)), fetch(vec2(low.x, high.y)), fetch(high));
  }
  return reduced();
}

float normalised(float value) {
  if (kTransfer == kLog) {
    return value > 0.0 ? clamp((log(value) - scale.x) * scale.y, 0.0, 1.0) : 0.0;
  }
  float t = clamp((value - scale.x) * scale.y, 0.0, 1.0);
  return kTransfer == kGamma && t > 0.0 ? pow(t, scale.z) : t;
}

void main() {
  float value = sampled();
  vec4 color = texelFetch(colormaps, ivec2(normalised(value) * 4095.0 + 0.5, choices.x), 0);
  out_color = value > kNone ? vec4(color.rgb * scale.w, scale.w) : mask;
}
