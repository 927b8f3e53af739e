// A cell's value as a colour: figure::Pyramid::sample(), figure::normalised() and figure::color_at(). The level and the
// number of samples are the same for a whole quad: they are chosen before.
#version 450
#extension GL_EXT_samplerless_texture_functions : require

layout(set = 0, binding = 0) uniform textureBuffer values;     // levels of figure::Pyramid, in strips of 32 columns
layout(set = 1, binding = 0) uniform textureBuffer colormaps;  // 4096 colours a map

// A pipeline a choice: software drivers evaluate both sides of every branch.
layout(constant_id = 0) const uint kTaps = 0u;  // samples along each axis of a pixel: 1, 2, or 0 for any number
layout(constant_id = 1) const uint kTransfer = 0u;

layout(location = 0) in vec2 cell;            // of the level
layout(location = 1) flat in ivec4 texels;    // the level's first texel, texels a strip, its last column and row
layout(location = 2) flat in vec4 scale;      // low, 1 / range, gamma, opacity; of magnitudes where centred
layout(location = 3) flat in uvec4 choices;   // colormap, reduction, samples across and down
layout(location = 4) flat in vec4 mask;       // premultiplied
layout(location = 5) flat in vec2 extent;     // cells of the level a pixel covers
layout(location = 6) flat in vec4 lines;      // over the mask, premultiplied
layout(location = 7) flat in vec2 hatch;      // their period and their width along an axis

layout(location = 0) out vec4 out_color;  // premultiplied

const uint kLog = 1u;
const uint kGamma = 2u;
const uint kCentred = 3u;  // and above: |value| by kTransfer − kCentred on each side of the middle
const uint kMax = 1u;  // of Reduction
const float kNone = -3.2e38;  // below: no value (FieldTextures writes it so)

// Where a place's column and row put its texel; truncation is enough, as nothing lies below −1 but what is clamped.
int across(float column) {
  int cell = clamp(int(column), 0, texels.z);
  return texels.x + (cell >> 5) * texels.y + (cell & 31);
}

int down(float row) {
  return clamp(int(row), 0, texels.w) << 5;
}

float fetch(int texel) {
  return texelFetch(values, texel).r;
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
      vec2 at = cell + ((vec2(c, r) + 0.5) / vec2(taps) - 0.5) * extent;
      float value = fetch(across(at.x) + down(at.y));
      largest = max(largest, value);
      sum += value > kNone ? value : 0.0;
      count += value > kNone ? 1.0 : 0.0;
    }
  }
  return choices.y == kMax || count == 0.0 ? largest : sum / count;
}

float sampled() {
  if (kTaps == 1u) {
    return fetch(across(cell.x) + down(cell.y));
  }
  if (kTaps == 2u) {
    int left = across(cell.x - 0.25 * extent.x);
    int right = across(cell.x + 0.25 * extent.x);
    int top = down(cell.y - 0.25 * extent.y);
    int bottom = down(cell.y + 0.25 * extent.y);
    return reduce4(fetch(left + top), fetch(right + top), fetch(left + bottom), fetch(right + bottom));
  }
  return reduced();
}

float share(uint transfer, float value) {
  if (transfer == kLog) {
    return value > 0.0 ? clamp((log(value) - scale.x) * scale.y, 0.0, 1.0) : 0.0;
  }
  float t = clamp((value - scale.x) * scale.y, 0.0, 1.0);
  return transfer == kGamma && t > 0.0 ? pow(t, scale.z) : t;
}

float normalised(float value) {
  if (kTransfer < kCentred) {
    return share(kTransfer, value);
  }
  return 0.5 + 0.5 * sign(value) * share(kTransfer - kCentred, abs(value));
}

void main() {
  float value = sampled();
  vec4 color = texelFetch(colormaps, int(choices.x) * 4096 + int(normalised(value) * 4095.0 + 0.5));
  // The lines x + y = n · period of figure::Hatch, half of their width on either side.
  float beside = mod(gl_FragCoord.x + gl_FragCoord.y + 0.5 * hatch.y, hatch.x);
  out_color = value > kNone ? vec4(color.rgb * scale.w, scale.w) : beside < hatch.y ? lines : mask;
}
