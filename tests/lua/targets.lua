-- SPDX-License-Identifier: Apache-2.0
-- Targets other than this machine: code is built and its source read, never
-- run.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

local function product()
  local A, B = ts.placeholder("A", { 64 }), ts.placeholder("B", { 64 })
  local C = ts.compute("C", { 64 }, function(i) return A(i) * B(i) + A(i) end)
  return ts.program("p", { A, B }, { C })
end

local function vectorized(p)
  local sch = ts.schedule(p)
  sch:vectorize((sch:get_loops(sch:get_block "C")))
  return sch
end

local p = product()
local sch = vectorized(p)

local function tensors()
  local function tensor(seed)
    return ts.tensor("float32", { 64 }, "integers", seed)
  end
  return tensor(1), tensor(2), tensor(3)
end

local function is_foreign(target, says)
  local kernel = ts.build(sch, target)
  assert(#kernel:source "asm" > 0)
  fails("UNSUPPORTED", says, kernel, tensors())
  fails("UNSUPPORTED", says, kernel.time, kernel, { tensors() })
  fails("UNSUPPORTED", says, ts.tune, p, { target = target, trials = 1 })
end

local host = ts.target "llvm"
local host_cpu = tostring(host):match "mcpu=(%S+)"
is_foreign("llvm -mtriple=i686-linux-gnu", "'i686-linux-gnu'")
is_foreign("llvm -mtriple=x86_64-pc-windows-msvc", "windows")
if not host:has "xop" then is_foreign("llvm -mcpu=bdver1", "xop") end
if not host:has "fma4" then is_foreign("llvm -mattr=+fma4", "fma4") end

-- What has no more than this machine runs.
for _, target in ipairs{ "llvm -mcpu=x86-64", "llvm -mtriple=x86_64-linux-gnu",
                         "llvm -mattr=-avx2", "llvm -mattr=+sse2" } do
  ts.build(sch, target)(tensors())
end

-- A product and a sum, each rounded: as the interpreter does it.
do
  local a, b = ts.tensor("float32", { 64 }, "random", 1),
               ts.tensor("float32", { 64 }, "random", 2)
  local want, got = ts.tensor("float32", { 64 }), ts.tensor("float32", { 64 })
  local function differ(options)
    local n = 0
    ts.build(sch, "llvm " .. options)(a, b, got)
    for i = 0, 63 do if want:get(i) ~= got:get(i) then n = n + 1 end end
    return n
  end
  ts.interpret(p, { a, b, want })
  assert(differ "-fp-contract=off" == 0)
  if host:has "fma" then
    assert(differ "-fp-contract=fast" > 0 and differ "" > 0)
  end
  assert(tostring(ts.target "llvm -fp-contract=off"):find "contract=off")
  fails("INVALID", "-fp-contract", ts.target, "llvm -fp-contract=on")
end

-- The default space of a named processor has what its name implies.
do
  local spaces = require "tessera.modules.spaces"
  local function uses(target, name)
    for _, m in ipairs(spaces.modules_for(target)) do
      if m.name == name then return true end
    end
    return false
  end
  for target, has in pairs {
    ["-mcpu=haswell"] = "", ["-mcpu=cascadelake"] = "use_dots",
    ["-mcpu=cascadelake -mattr=-avx512vnni"] = "",
    ["-mcpu=sapphirerapids -mattr=+sse2"] = "use_dots use_amx",
    ["-mtriple=aarch64-linux-gnu -mcpu=cortex-a72"] = "",
    ["-mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"] = "use_dots",
  } do
    for _, name in ipairs { "use_dots", "use_amx" } do
      local same = target:match "mcpu=(%S+)" == host_cpu
      assert(same or uses("llvm " .. target, name) ==
                     (has:find(name, 1, true) ~= nil), target .. name)
    end
  end
end

-- Features: those of this machine and what the text says.
assert(ts.target "llvm -mattr=-sse3":has "sse2")
for _, without in ipairs { "sse3", "ssse3", "avx", "avx512f" } do
  assert(not ts.target "llvm -mattr=-sse3":has(without), without)
end
fails("INVALID", "'nosuch'", ts.target, "llvm -mattr=+nosuch")
fails("INVALID", "'avx3'", ts.target, "llvm -mattr=+avx2,-avx3")
fails("INVALID", "'avx2'", ts.target, "llvm -mattr=avx2")
fails("INVALID", "-mattr", ts.target, "llvm -mattr=+avx2,")
fails("INVALID", "'64bit'", ts.target, "llvm -mattr=-64bit")
fails("INVALID", "'nosuch'", ts.target, "llvm -mtriple=i686-linux -mcpu=nosuch")
fails("INVALID", "'pentium4'", ts.target, "llvm -mcpu=pentium4")
fails("UNSUPPORTED", "of this machine's architecture", ts.target,
      "llvm -mtriple=sparc-sun-solaris")
ts.target "llvm -mtriple=i686-linux-gnu -mcpu=pentium4"
