-- SPDX-License-Identifier: Apache-2.0
-- The module for the transforms of Winograd convolutions, of both layouts and
-- sizes of tiles; what it leaves alone, and why.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local winograd = require "tessera.modules.winograd"
local finish = require "tessera.modules.parallel_vectorize_unroll"

for _, o in ipairs {
  { n = 1, h = 6, w = 6, ci = 4, co = 8, tile = 2, pad = 1 },
  { n = 1, h = 6, w = 7, ci = 3, co = 2, tile = 4 },
} do
  for _, layout in ipairs { "nhwc", "nchw" } do
    local p = ops["conv2d_winograd_" .. layout](o)
    local text = ts.space.explain({ winograd {} }, p, "llvm", { all = true })
    assert(text:find("winograd at data_pack: applied, 1 schedule", 1, true) and
           text:find("winograd at inverse: applied, 1 schedule", 1, true) and
           text:find("winograd at bgemm: not applicable: it does", 1, true),
           text)
    local t = ts.space.sketches({ winograd {}, finish {} }, p, "llvm")[1]
    for seed = 1, 2 do
      checks.same(t:replay(p, { resample = true, seed = seed }), p)
    end
  end
end

-- What tiles are of is copied beside them; tiles and sums are unrolled where
-- that is wanted.
do
  local p = ops.conv2d_winograd_nhwc { n = 1, h = 4, w = 4, ci = 8, co = 8,
                                       tile = 2 }
  local function text_of(params)
    return tostring(ts.space.sketches({ winograd(params) }, p)[1]:replay(p))
  end
  local text = text_of { unroll = true }
  assert(select(2, text:gsub("in unrolled%(%d%)", "")) == 8, text)
  assert(text:find("for ax0 in range(4)", 1, true), text)
  assert(not text_of {}:find("unrolled", 1, true))
  assert(ts.space.explain({ winograd { max_tile = 3 } }, p, nil,
                          { all = true }):find(
         "rows of a tile are at most 3 long, not 4", 1, true))
  checks.fails("INVALID", "'max_tile'", winograd, { max_tile = 0 })
end
