-- SPDX-License-Identifier: Apache-2.0
-- What primitives that copy, lay out and place data ask (preconditions.lua).
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local stages = dofile((arg[0]:gsub("[^/]*$", "../support/stages.lua")))
local legal, illegal = checks.legal, checks.illegal
local P, Q, S, L = stages.product, stages.chain, stages.stencil, stages.loops

-- ---- cache_read ------------------------------------------------------------
legal(P, function(s) s:cache_read(s:get_block("C"), 0, "local") end)
illegal(P, "STORAGE_UNKNOWN", function(s)
  s:cache_read(s:get_block("C"), 0, "nowhere")
end)
illegal(P, "BUFFER_INDEX", function(s)
  s:cache_read(s:get_block("C"), 2, "local")
end)
illegal(P, "BUFFER_INDEX", function(s)
  s:cache_read(s:get_block("C"), -1, "local")
end)
legal(Q, function(s)
  s:cache_read(s:get_block("C"), 0, "local",
    { consumer_blocks = { s:get_block("D") } })
end)
illegal(Q, "NOT_READER", function(s)
  s:cache_read(s:get_block("D"), "C", "local",
    { consumer_blocks = { s:get_block("B") } })
end)

-- ---- cache_write -----------------------------------------------------------
legal(P, function(s) s:cache_write(s:get_block("C"), 0, "local") end)
illegal(P, "BUFFER_INDEX", function(s)
  s:cache_write(s:get_block("C"), 1, "local")
end)
legal(Q, function(s)
  s:cache_write(s:get_block("B"), 0, "local",
    { consumer_blocks = { s:get_block("C") } })
end)

-- ---- reindex_cache_read ----------------------------------------------------
legal(P, function(s)
  s:reindex_cache_read(s:get_block("C"), 0, "local",
    function(i, j, k) return k, i end)
end)
illegal(P, "MAP_ITERS", function(s)
  s:reindex_cache_read(s:get_block("C"), 0, "local",
    function(i, j, k) return k, j end)
end)
illegal(P, "MAP_ITERS", function(s)
  s:reindex_cache_read(s:get_block("C"), 0, "local",
    function(i, j, k) return k end)
end)
illegal(P, "MAP_ITER_COUNT", function(s)
  s:reindex_cache_read(s:get_block("C"), 0, "local",
    function(i, j) return j, i end)
end)

-- ---- reindex_cache_write ---------------------------------------------------
legal(P, function(s)
  s:reindex_cache_write(s:get_block("C"), 0, "local",
    function(i, j, k) return j, i end)
end)
illegal(P, "MAP_ITERS", function(s)
  s:reindex_cache_write(s:get_block("C"), 0, "local",
    function(i, j, k) return j, i, k end)
end)

-- ---- cache_inplace ---------------------------------------------------------
illegal(P, "NOT_IN_PLACE", function(s)
  s:cache_inplace(s:get_block("D"), 0, "local")
end)

-- Of a buffer that tiles of two blocks make, none of it before them: who makes
-- any is named.
do
  local ts = require "tessera"
  local b = ts.builder("tiles")
  local A, B = b:input("A", { 8 }), b:output("B", { 8 })
  b:loop("o", 0, 2, function(o)
    for _, name in ipairs { "first", "second" } do
      b:loop("i", 0, 4, function(i)
        b:block(name, { { "v", extent = 8, bind = o * 4 + i } }, function(v)
          b:store(B, { v }, name == "first" and 1 or A(v) + B(v))
        end)
      end)
    end
  end)
  local e = illegal(b:program(), "NOT_COVERED", function(s)
    s:cache_inplace(s:get_block("second"), "B", "local")
  end)
  assert(e.message:find('"second" would read elements of buffer "B" that '
                        .. 'block "first" is not proven', 1, true), e.message)
end

-- ---- cache_index -----------------------------------------------------------
illegal(P, "THRESHOLD_NEGATIVE", function(s)
  s:cache_index(s:get_block("D"), "global", -1)
end)

-- ---- reindex ---------------------------------------------------------------
legal(P, function(s) s:reindex(s:get_block("C"), { "read", 0 }) end)
illegal(P, "BUFFER_INDEX", function(s)
  s:reindex(s:get_block("C"), { "read", 5 })
end)
illegal(S, "ACCESS_DIFFERS", function(s)
  s:reindex(s:get_block("C"), { "read", 0 })
end)

-- ---- transform_layout ------------------------------------------------------
legal(P, function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return j, i end)
end)
illegal(P, "MAP_COLLIDES", function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return i end)
end)
illegal(P, "PAD_MISSING", function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return i//5, i%5, j end)
end)
legal(P, function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return i//5, i%5, j end, { pad_value = 0 })
end)
legal(P, function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return i//5, i%5, j end,
    { assume_injective_transform = true })
end)
illegal(P, "PAD_MAP", function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return i//5, i%5, j end,
    { pad_value = function(a, b) return 0 end })
end)
illegal(P, "PARAMETER_FIXED", function(s)
  s:transform_layout(s:get_block("C"), { "read", 0 },
    function(i, j) return j, i end)
end)
illegal(P, "MAP_ARITY", function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 }, function(i) return i end)
end)
illegal(P, "MAP_NEGATIVE", function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return i-3, j end)
end)

-- ---- transform_block_layout ------------------------------------------------
legal(P, function(s)
  s:transform_block_layout(s:get_block("C"),
    function(i, j, k) return j, k, i end)
end)
illegal(P, "MAP_MIXES", function(s)
  s:transform_block_layout(s:get_block("C"),
    function(i, j, k) return i*32+k, j end)
end)
illegal(P, "MAP_COLLIDES", function(s)
  s:transform_block_layout(s:get_block("C"), function(i, j, k) return i, k end)
end)
illegal(P, "NOT_TRIVIAL", function(s)
  local i, j, k = L(s, "C")
  s:fuse(i, j)
  s:transform_block_layout(s:get_block("C"),
    function(i, j, k) return j, k, i end)
end)

-- ---- storage_align ---------------------------------------------------------
legal(P, function(s) s:storage_align(s:get_block("C"), 0, 0, 32, 8) end)
illegal(P, "ALIGN_AXIS", function(s)
  s:storage_align(s:get_block("C"), 0, 2, 32, 8)
end)
legal(P, function(s) s:storage_align(s:get_block("C"), 0, -2, 32, 8) end)
illegal(P, "ALIGN_FACTOR", function(s)
  s:storage_align(s:get_block("C"), 0, 0, 0, 8)
end)
illegal(P, "PARAMETER_FIXED", function(s)
  s:storage_align(s:get_block("D"), 0, 0, 32, 8)
end)

-- ---- set_scope -------------------------------------------------------------
legal(P, function(s) s:set_scope(s:get_block("C"), 0, "shared") end)
illegal(P, "PARAMETER_FIXED", function(s)
  s:set_scope(s:get_block("D"), 0, "shared")
end)
illegal(P, "STORAGE_UNKNOWN", function(s)
  s:set_scope(s:get_block("C"), 0, "zzz")
end)

-- ---- unsafe_set_dtype ------------------------------------------------------
illegal(P, "PARAMETER_FIXED", function(s)
  s:unsafe_set_dtype(s:get_block("D"), 0, "float16")
end)

-- ---- unsafe_hide_buffer_access ---------------------------------------------
illegal(P, "BUFFER_INDEX", function(s)
  s:unsafe_hide_buffer_access(s:get_block("C"), "read", { 7 })
end)
illegal(P, "SIDE_UNKNOWN", function(s)
  s:unsafe_hide_buffer_access(s:get_block("C"), "both", { 0 })
end)
