-- SPDX-License-Identifier: Apache-2.0
-- Code for AArch64, executed by qemu: kernels are saved as objects, linked with
-- a program that has their arguments, and its output is compared with what the
-- interpreter computes.
local ts = require "tessera"
local intrin = require "tessera.intrin"
local ops = require "tessera.ops"
local tensor = require "tessera.tensor"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local bytes = dofile((arg[0]:gsub("[^/]*$", "../support/bytes.lua")))

local cc = assert(os.getenv "TESSERA_ARM_CC")
local qemu = assert(os.getenv "TESSERA_ARM_QEMU")
local arm = "llvm -mtriple=aarch64-linux-gnu -num-cores=4 -mattr=+"

local folder = os.tmpname()
assert(os.remove(folder) and os.execute("mkdir " .. folder))
local made <close> = setmetatable({}, { __close = function()
  os.execute("rm -r " .. folder)
end })

local c_types = { int8 = "int8_t", uint8 = "uint8_t", int32 = "int32_t",
                  uint32 = "uint32_t", float32 = "float" }

local function elements(t)
  local n = 1
  for _, d in ipairs(t:shape()) do n = n * d end
  return n
end

-- The value at a place in the order of memory.
local function at(t, i)
  local index, shape = {}, t:shape()
  for d = #shape, 1, -1 do index[d], i = i % shape[d], i // shape[d] end
  return t:get(table.unpack(index))
end

local function declare(f, name, t, has_values)
  local list = {}
  for i = 0, has_values and elements(t) - 1 or -1 do
    list[i + 1] = ("%.17g"):format(at(t, i))
  end
  f:write(("static %s %s[%d] = { %s };\n"):format(
    c_types[t:dtype()], name, elements(t),
    has_values and table.concat(list, ", ") or "0"))
end

-- main() calls the program with the arguments and prints the last one.
local function write_main(p, args)
  local f <close> = assert(io.open(folder .. "/main.c", "w"))
  f:write "#include <stdint.h>\n#include <stdio.h>\n#include \"p.h\"\n"
  local names = {}
  for i, t in ipairs(args) do
    names[i] = "x" .. i
    declare(f, names[i], t, i < #args)
  end
  f:write(([[
int main(void) {
  int status = %s(%s);
  for (int i = 0; i < %d; i++) printf("%%.17g\n", (double)x%d[i]);
  return status;
}
]]):format(tostring(p):match "^[%w_]+", table.concat(names, ", "),
              elements(args[#args]), #args))
end

local function command(...)
  local text = table.concat({ ... }, " ")
  assert(os.execute(text), text)
end

local function check(sch, p, target, fill)
  local args = checks.arguments(p, fill)
  write_main(p, args)
  ts.build(sch, target):save(folder .. "/p.o", folder .. "/p.h")
  command(cc, "-static -O1 -o", folder .. "/p", folder .. "/main.c",
          folder .. "/p.o")
  command(qemu, "-cpu max", folder .. "/p >" .. folder .. "/out")
  ts.interpret(p, args)
  local want, i = args[#args], 0
  for line in io.lines(folder .. "/out") do
    assert(tonumber(line) == at(want, i), line)
    i = i + 1
  end
  assert(i == elements(want))
end

-- Each of the dot products.
for _, x in ipairs {
  { "dot_4x4_i8i8s32_neon", "neon", "s8s8" },
  { "dot_4x4_i8i8s32_sdot", "dotprod", "s8s8" },
  { "dot_4x4_u8u8u32_udot", "dotprod", "u8u8" },
  { "dot_4x4_u8i8s32_usdot", "i8mm", "u8s8" },
} do
  local p = bytes(x[3], 3, 8, 12)
  local sch = ts.schedule(p)
  assert(tensor.auto(sch, sch:get_block "C", intrin.use(x[1])))
  check(sch, p, arm .. x[2], "random")
end

-- The default space, on bytes and on floats.
for _, p in ipairs { bytes("s8s8", 5, 7, 6),
                     ops.matmul { m = 12, n = 16, k = 8 } } do
  local target = arm .. "dotprod"
  local list = ts.space.sketches(ts.space.default(target), p, target,
                                 { postprocs = true })
  local sch
  for seed = 1, 8 do
    local ok, s = pcall(list[1].replay, list[1], p,
                        { resample = true, seed = seed })
    sch = sch or ok and s
  end
  check(assert(sch), p, target, "integers")
end
