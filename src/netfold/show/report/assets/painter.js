"use strict";

const POINT = [
  `#version 300 es
  in vec2 at;
  in uint slot;
  in vec2 weight;
  uniform vec4 view;
  uniform float size;
  uniform sampler2D palette;
  out vec4 color;
  out float across;
  void main() {
    color = texelFetch(palette, ivec2(int(slot), 0), 0) * vec4(1.0, 1.0, 1.0, weight.x);
    gl_Position = weight.x > 0.0 ? vec4(at * view.xy + view.zw, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
    across = size * weight.y * 255.0 / 64.0;
    gl_PointSize = across;
  }`,
  `#version 300 es
  precision highp float;
  in vec4 color;
  in float across;
  uniform float opacity;
  out vec4 ink;
  void main() {
    float far = length(gl_PointCoord * 2.0 - 1.0);
    float round = across < 2.5 ? 1.0 : 1.0 - smoothstep(1.0 - 2.0 / across, 1.0, far);
    float a = color.a * opacity * round;
    ink = vec4(color.rgb * a, a);
  }`,
];

const ELLIPSE = [
  `#version 300 es
  in vec2 at;
  in uint slot;
  in vec3 part;
  in vec2 weight;
  uniform vec4 view;
  uniform float most;
  uniform sampler2D palette;
  out vec4 color;
  out vec2 corner;
  void main() {
    corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
    vec2 along = corner * part.xy * part.xy * most;
    float c = cos(part.z * 3.14159265), s = sin(part.z * 3.14159265);
    vec2 turned = vec2(c * along.x - s * along.y, s * along.x + c * along.y);
    color = texelFetch(palette, ivec2(int(slot), 0), 0) * vec4(1.0, 1.0, 1.0, weight.x);
    gl_Position = vec4((at + turned) * view.xy + view.zw, 0.0, 1.0);
  }`,
  `#version 300 es
  precision highp float;
  in vec4 color;
  in vec2 corner;
  uniform float opacity;
  out vec4 ink;
  void main() {
    float far = length(corner);
    float edge = fwidth(far);
    float inside = 1.0 - smoothstep(1.0 - edge, 1.0, far);
    float rim = smoothstep(1.0 - 3.0 * edge, 1.0 - edge, far);
    float a = color.a * opacity * inside * (0.22 + 0.55 * rim);
    ink = vec4(color.rgb * a, a);
  }`,
];

const LINE = [
  `#version 300 es
  in vec2 at;
  in vec2 weight;
  uniform vec4 view;
  out float seen;
  void main() {
    seen = weight.x > 0.5 ? 1.0 : 0.0;
    gl_Position = vec4(at * view.xy + view.zw, 0.0, 1.0);
  }`,
  `#version 300 es
  precision highp float;
  in float seen;
  uniform vec4 tint;
  out vec4 ink;
  void main() {
    float a = seen < 0.999 ? 0.0 : tint.a; // both ends must be
    ink = vec4(tint.rgb * a, a);
  }`,
];

/** Draws points, ellipses and edges with WebGL2. */
class Painter {
  constructor(canvas, smooth) {
    const gl = canvas.getContext("webgl2", { antialias: smooth, alpha: true, premultipliedAlpha: true });
    if (!gl) throw new Error("this browser has no WebGL2");
    this.gl = gl;
    this.canvas = canvas;
    this.point = program(gl, POINT);
    this.ellipse = program(gl, ELLIPSE);
    this.line = program(gl, LINE);
    this.counts = { at: 0, slot: 0, part: 0, weight: 0, ends: 0 };
    this.buffers = Object.fromEntries(Object.keys(this.counts).map((name) => [name, gl.createBuffer()]));
    this.palette = gl.createTexture();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /**
   * Sends an array: `at` (positions), `slot` (colours), `part` (ellipses), `weight` (opacity, and the size, of which 64
   * is the usual) or `ends` (edges); null empties it.
   */
  load(name, array) {
    const { gl } = this;
    const target = name === "ends" ? gl.ELEMENT_ARRAY_BUFFER : gl.ARRAY_BUFFER;
    gl.bindVertexArray(null);
    gl.bindBuffer(target, this.buffers[name]);
    gl.bufferData(target, array || new Uint8Array(0), gl.STATIC_DRAW);
    this.counts[name] = array ? array.length : 0;
  }

  /** 256 colours, four bytes each. */
  loadPalette(bytes) {
    const { gl } = this;
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }

  /** One frame: `look` has the camera, the pixel ratio, sizes, opacities and what is to be seen. */
  draw(camera, look) {
    const { gl, canvas } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const across = (2 * camera.scale) / camera.width;
    const up = (2 * camera.scale) / camera.height;
    this.view = [across, up, -camera.x * across, -camera.y * up];
    if (look.links && this.counts.ends) this.drawLinks(look);
    if (look.ellipses && this.counts.part) this.drawEllipses(look);
    this.drawPoints(look);
  }

  /** With a stride of s, only every s-th point. */
  drawPoints({ size, opacity, stride }) {
    const { gl, point } = this;
    gl.useProgram(point.program);
    gl.uniform4fv(point.view, this.view);
    gl.uniform1f(point.size, size);
    gl.uniform1f(point.opacity, opacity);
    this.bind(point, "at", 2, gl.UNSIGNED_SHORT, 0, 4 * stride);
    this.bind(point, "slot", 1, gl.UNSIGNED_BYTE, 0, stride);
    this.bindWeights(point, 0, 2 * stride);
    gl.drawArrays(gl.POINTS, 0, Math.ceil(this.counts.at / 2 / stride));
  }

  drawEllipses({ most, opacity }) {
    const { gl, ellipse } = this;
    gl.useProgram(ellipse.program);
    gl.uniform4fv(ellipse.view, this.view);
    gl.uniform1f(ellipse.most, most);
    gl.uniform1f(ellipse.opacity, opacity);
    this.bind(ellipse, "at", 2, gl.UNSIGNED_SHORT, 1);
    this.bind(ellipse, "slot", 1, gl.UNSIGNED_BYTE, 1);
    this.bind(ellipse, "part", 3, gl.UNSIGNED_BYTE, 1);
    this.bindWeights(ellipse, 1);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.counts.part / 3);
  }

  /** Calls back once all that was asked for has been drawn, without waiting for it. */
  whenDrawn(callback) {
    const { gl } = this;
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    const look = () => {
      if (gl.isContextLost()) return;
      if (gl.getSyncParameter(fence, gl.SYNC_STATUS) !== gl.SIGNALED) {
        setTimeout(look, 8);
        return;
      }
      gl.deleteSync(fence);
      callback();
    };
    setTimeout(look, 0);
  }

  /** With a stride of s, the first s-th part of the links. */
  drawLinks({ tint, linkStride: stride }) {
    const { gl, line } = this;
    gl.useProgram(line.program);
    gl.uniform4fv(line.view, this.view);
    gl.uniform4fv(line.tint, tint);
    this.bind(line, "at", 2, gl.UNSIGNED_SHORT, 0);
    this.bindWeights(line, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers.ends);
    gl.drawElements(gl.LINES, 2 * Math.ceil(this.counts.ends / 2 / stride), gl.UNSIGNED_INT, 0);
  }

  /** Those of each node or, where none were sent, the usual of all. */
  bindWeights(of, divisor, apart = 0) {
    const { gl } = this;
    if (this.counts.weight) {
      this.bind(of, "weight", 2, gl.UNSIGNED_BYTE, divisor, apart);
      return;
    }
    gl.disableVertexAttribArray(of.weight);
    gl.vertexAttrib2f(of.weight, 1, 64 / 255);
  }

  bind(of, name, width, type, divisor, apart = 0) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.enableVertexAttribArray(of[name]);
    if (name === "slot") gl.vertexAttribIPointer(of[name], width, type, apart, 0);
    else gl.vertexAttribPointer(of[name], width, type, true, apart, 0);
    gl.vertexAttribDivisor(of[name], divisor);
  }
}

/** A program, and where its uniforms and attributes are, by name; attributes have the same place in all. */
function program(gl, sources) {
  const made = gl.createProgram();
  [gl.VERTEX_SHADER, gl.FRAGMENT_SHADER].forEach((type, i) => {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, sources[i].trimStart());
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  });
  const places = { at: 0, slot: 1, part: 2, weight: 3 };
  for (const [name, place] of Object.entries(places)) gl.bindAttribLocation(made, place, name);
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  const found = { program: made, ...places };
  for (let i = 0; i < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); i++) {
    const { name } = gl.getActiveUniform(made, i);
    found[name] = gl.getUniformLocation(made, name);
  }
  return found;
}
