#version 450

layout(set = 0, binding = 0) uniform sampler2D picture;

layout(location = 0) in vec2 uv;
layout(location = 1) flat in vec4 color;
layout(location = 2) flat in vec4 kind;
layout(location = 3) flat in vec4 clip;

layout(location = 0) out vec4 out_color;  // premultiplied

const int kClipped = 0;  // a solid quad that the clip cuts
const int kRound = 1;  // a segment with round ends; uv is along and across it, in pixels
const int kFlat = 2;   // a segment with flat ends
const int kTexture = 3;

void main() {
  vec2 at = gl_FragCoord.xy;
  if (at.x < clip.x || at.y < clip.y || at.x >= clip.z || at.y >= clip.w) {
    discard;
  }
  int what = int(kind.x);
  vec4 texel = textureLod(picture, uv, 0.0);
  float coverage = 1.0;
  if (what == kRound) {
    vec2 outside = vec2(uv.x - clamp(uv.x, 0.0, kind.z), uv.y);
    coverage = clamp(kind.y + 0.5 - length(outside), 0.0, 1.0);
  } else if (what == kFlat) {
    coverage = clamp(kind.y + 0.5 - abs(uv.y), 0.0, 1.0) * clamp(min(uv.x, kind.z - uv.x) + 0.5, 0.0, 1.0);
  }
  vec4 tint = vec4(color.rgb * color.a, color.a) * kind.w;
  out_color = what == kTexture ? texel * tint : tint * coverage;
}
