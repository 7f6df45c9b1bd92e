-- SPDX-License-Identifier: Apache-2.0
-- Products of tiles by vectors, as every processor has them.
local kit = require "tessera.intrin.kit"

kit.enter {
  name = "dot_16x4", family = "vectors", kind = "llvm",
  summary = "int32[16] += uint8[4] . int8[16, 4], by vectors of columns",
  desc = function()
    return kit.product { n = 16, k = 4, dtype = "uint8", dtype_b = "int8",
                         acc = "int32", trans = true }
  end,
  impl = kit.by_columns,
}

-- Rows side by side, as instructions take them that add up several products:
-- P[j, k] = B[k, j], or, for the columns of B[j, k], P[j, k] = B[j, k].
local function regroup(name, rows, dtype, bits, trans)
  kit.enter {
    name = name, family = "vectors", kind = "llvm",
    summary = trans and
      ("%s[16, %d] out of rows that are apart"):format(dtype, rows) or
      ("%s[16, %d] out of %d rows of 16, side by side"):format(dtype, rows,
                                                               rows),
    desc = function()
      return kit.rearrange(dtype, 16, rows, not trans)
    end,
    impl = function()
      local function of(n, text, ...)
        return ("int%dx%d(%s)"):format(bits, n, text:format(...))
      end
      local function row(i)
        return of(16, "llvm.vector.extract.v16i%d.v%di%d(int%dx%d(B), " ..
                  "int64(%d))", bits, 16 * rows, bits, bits, 16 * rows, 16 * i)
      end
      local function both(n, a, b)
        return of(n, "llvm.vector.interleave2.v%di%d(%s, %s)", n, bits, a, b)
      end
      if trans then return "P = " .. of(16 * rows, "B") end
      return "P = " .. (rows == 2 and both(32, row(0), row(1)) or
                        both(64, both(32, row(0), row(2)),
                             both(32, row(1), row(3))))
    end,
  }
end

for _, x in ipairs { { "s8", "int8", 8 }, { "u8", "uint8", 8 },
                     { "bf16", "bfloat16", 16 } } do
  local t, dtype, bits = table.unpack(x)
  local rows = 32 // bits
  regroup(("interleave_%dx16_%s"):format(rows, t), rows, dtype, bits, false)
  regroup(("gather_16x%d_%s"):format(rows, t), rows, dtype, bits, true)
end
