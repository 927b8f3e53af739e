// A quad of any kind: solid, line or textured. Places are framebuffer pixels.
#version 450

layout(push_constant) uniform Frame {
  vec2 to_clip;  // 2 / framebuffer size
} frame;

layout(location = 0) in vec4 top;     // x, y of the corner (u0, v0), then of (u1, v0)
layout(location = 1) in vec4 bottom;  // of (u0, v1), then of (u1, v1)
layout(location = 2) in vec4 uv;      // u0, v0, u1, v1
layout(location = 3) in vec4 color;   // not premultiplied
layout(location = 4) in vec4 kind;    // kind, half width, length, opacity
layout(location = 5) in vec4 clip;    // left, top, right, bottom

layout(location = 0) out vec2 out_uv;
layout(location = 1) flat out vec4 out_color;
layout(location = 2) flat out vec4 out_kind;
layout(location = 3) flat out vec4 out_clip;

void main() {
  bool right = (gl_VertexIndex & 1) != 0;
  bool low = (gl_VertexIndex & 2) != 0;
  vec4 pair = low ? bottom : top;
  vec2 place = right ? pair.zw : pair.xy;
  out_uv = vec2(right ? uv.z : uv.x, low ? uv.w : uv.y);
  out_color = color;
  out_kind = kind;
  out_clip = clip;
  gl_Position = vec4(place * frame.to_clip - 1.0, 0.0, 1.0);
}
