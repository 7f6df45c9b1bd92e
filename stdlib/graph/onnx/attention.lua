-- SPDX-License-Identifier: Apache-2.0
-- ONNX's Attention, LinearAttention and RotaryEmbedding: heads may lie in one
-- dimension, masks may be short.

local function heads_apart(n, x, heads)
  local s = x.shape
  if #s == 4 then return x end
  local split = n:reshape(x, { s[1], s[2], heads, s[3] // heads })
  return n.ops.transpose(split, { perm = { 0, 2, 1, 3 } })
end

local function heads_together(n, x)
  local s = x.shape
  return n:reshape(n.ops.transpose(x, { perm = { 0, 2, 1, 3 } }),
                   { s[1], s[3], s[2] * s[4] })
end

-- A mask of fewer keys: the others are masked.
local function whole_mask(n, mask, keys)
  local s = mask.shape
  if s[#s] >= keys then return mask end
  local before, after = {}, {}
  for d = 1, #s do
    before[d], after[d] = 0, d == #s and keys - s[#s] or 0
  end
  return n.ops.pad(mask, {
    before = before, after = after,
    value = mask.dtype == "bool" and 0 or -math.huge })
end

local modes = { [0] = "products", "capped", "masked", "weights" }

return function(of)
  function of.Attention(n)
    local q, kv = n:attr "q_num_heads", n:attr "kv_num_heads"
    local joined = n:rank(1) == 3
    local Q = heads_apart(n, n:needs(1), q)
    local K = heads_apart(n, n:needs(2), kv)
    local V, mask = heads_apart(n, n:needs(3), kv), n:x(4)
    local past = n:has(5) and n:shape(5)[3] or 0
    local o = {
      causal = n:flag "is_causal", scale = n:attr "scale",
      softcap = n:attr("softcap", 0.0), lengths = n:x(7),
      mask = mask and whole_mask(n, mask, K.shape[3] + past),
      past_k = n:x(5), past_v = n:x(6), zero_masked = true,
      offset = not n:has(7) and past or nil,
      left = n:attr("left_window_size", -1),
      right = n:attr("right_window_size", -1),
      scores = n:wants(4) and modes[n:attr("qk_matmul_output_mode", 0)] or nil,
    }
    local Y, k, v, scores = n.ops.attention(Q, K, V, o)
    if not n:has(5) then k, v, scores = K, V, k end
    if joined then Y = heads_together(n, Y) end
    return Y, k, v, scores
  end
  function of.LinearAttention(n)
    local h, groups = n:must "q_num_heads", n:must "kv_num_heads"
    local decay, beta, scale = n:x(5), n:x(6), n:attr("scale", 0.0)
    local Y, present = n.ops.linear_attention(
      heads_apart(n, n:needs(1), h), heads_apart(n, n:needs(2), groups),
      heads_apart(n, n:needs(3), groups), {
        past = n:x(4), decay = decay and heads_apart(n, decay, groups),
        beta = beta and n.ops.transpose(beta, { perm = { 0, 2, 1 } }),
        scale = scale ~= 0 and scale or nil })
    return heads_together(n, Y), present
  end
  -- Of graphs of their own, none.
  function of.FlexAttention(n)
    for _, name in ipairs { "score_mod", "prob_mod" } do
      if n:attr(name) then n:refuse("%s is a graph of its own", name) end
    end
    return (n.ops.attention(n:needs(1), n:needs(2), n:needs(3),
                            { scale = n:attr "scale" }))
  end
  function of.RotaryEmbedding(n)
    local x, heads = n:needs(1), n:attr("num_heads", 0)
    local o = { interleaved = n:flag "interleaved",
                dim = n:attr("rotary_embedding_dim", 0), I = n:x(4) }
    if o.dim == 0 then o.dim = nil end
    if #x.shape == 4 then
      return n.ops.rotary_embedding(x, n:needs(2), n:needs(3), o)
    end
    return heads_together(n, n.ops.rotary_embedding(heads_apart(n, x, heads),
                                                    n:needs(2), n:needs(3), o))
  end
end
