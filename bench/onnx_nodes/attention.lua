-- SPDX-License-Identifier: Apache-2.0
-- ONNX's Attention: heads may lie in one dimension, masks may be short.
local ops = require "tessera.ops"

local function heads_apart(x, heads)
  local s = x.shape
  if #s == 4 then return x end
  local split = ops.reshape(x, { to = { s[1], s[2], heads, s[3] // heads } })
  return ops.transpose(split, { perm = { 0, 2, 1, 3 } })
end

local modes = { [0] = "products", "capped", "masked", "weights" }

return function(n)
  local q, kv = n:attr "q_num_heads", n:attr "kv_num_heads"
  local joined = n:rank(1) == 3
  local Q, K = heads_apart(n:x(1), q), heads_apart(n:x(2), kv)
  local V, mask = heads_apart(n:x(3), kv), n:x(4)
  local past = n:has(5) and n:shape(5)[3] or 0
  local keys = K.shape[3] + past
  if mask then
    local s = mask.shape
    if s[#s] < keys then
      local after = {}
      for d = 1, #s do after[d] = d == #s and keys - s[#s] or 0 end
      local before = {}
      for d = 1, #s do before[d] = 0 end
      mask = ops.pad(mask, { before = before, after = after,
                             value = mask.dtype == "bool" and 0 or -math.huge })
    end
  end
  local o = {
    causal = n:flag "is_causal", scale = n:attr "scale",
    softcap = n:attr("softcap", 0.0), mask = mask, lengths = n:x(7),
    past_k = n:x(5), past_v = n:x(6), zero_masked = true,
    offset = not n:has(7) and past or nil,
    left = n:attr("left_window_size", -1),
    right = n:attr("right_window_size", -1),
    scores = n.case.outputs[4] and modes[n:attr("qk_matmul_output_mode", 0)],
  }
  local Y, k, v, scores = ops.attention(Q, K, V, o)
  if not n:has(5) then k, v, scores = K, V, k end
  if joined then
    local s = Y.shape
    Y = ops.reshape(ops.transpose(Y, { perm = { 0, 2, 1, 3 } }),
                    { to = { s[1], s[3], s[2] * s[4] } })
  end
  return Y, k, v, scores
end
