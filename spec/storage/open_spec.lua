-- A file that is opened is the sketch: read-only, without a copy, and one for all processes.

local ps = require "probsketch"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local finaliser = require "spec.support.finaliser"
local kinds = require "spec.support.kinds"
local memory = require "spec.support.memory"
local process = require "spec.support.process"

local measured = memory.is_measurable and it or pending
local permitted = process.bound() and it or pending
local quoted = files.quoted

local MEGABYTE = 2 ^ 20

local directory, path
setup(function()
  directory = files.directory()
  path = directory .. "/sketch"
end)
teardown(function()
  files.remove(directory)
end)

-- Methods that change nothing; all others have to refuse.
local asking = {}
for name in ([[count union compatible copy encode save chunks info bytes kind close has has_many frequency at_least
  jaccard intersection error_bound inner_product list each heavy_hitters estimate standard_error bounds fold
  quantile quantiles rank min max sum mean trimmed_mean centroids rank_error]]):gmatch "%a[%w_]*" do
  asking[name] = true
end

-- A file holds the live form of the sketch if its header says that it is flat.
local function is_flat(sketch)
  return envelope.open(sketch:encode()).flags % 2 == 1
end

local function opened(sketch, options)
  assert(sketch:save(path))
  return assert(ps.open(path, options))
end

local function without(info, ...)
  for _, name in ipairs { ... } do
    info[name] = nil
  end
  return info
end

local function is_mapped(name)
  return files.read "/proc/self/maps":find(name, 1, true) ~= nil
end

local mapped_kinds = {}

kinds.describe_forms(describe, function(form, kind)
  it("answers from its file as from memory", function()
    for _, sketch in ipairs { form.filled(), form.empty() } do
      assert(sketch:save(path))
      for _, options in ipairs { {}, { verify = false }, { populate = true, kind = kind.name } } do
        local file = assert(ps.open(path, options))
        local info = file:info()
        assert.equal(is_flat(sketch), info.mapped)
        mapped_kinds[kind.name] = mapped_kinds[kind.name] or info.mapped
        assert.equal(sketch:info().bytes, sketch:bytes())
        assert.equal(file:bytes(), info.bytes)
        assert.is_true(info.mapped and info.bytes < 600 or info.bytes == sketch:bytes())
        assert.same(without(sketch:info(), "bytes", "mapped"), without(info, "bytes", "mapped"))
        assert.equal(sketch, file)
        assert.equal(file, sketch)
        assert.same(kind.answers(sketch), kind.answers(file))
        assert.equal(sketch:count(), #file)
        expect.same_bytes(sketch:encode(), file:encode())
        local pieces = {}
        for piece in file:chunks(50) do
          pieces[#pieces + 1] = piece
        end
        expect.same_bytes(sketch:encode(), table.concat(pieces))
        assert.equal((sketch:compatible(sketch)), (sketch:compatible(file)))
        if kind.meet then
          assert.same(kind.meet(sketch, sketch), kind.meet(file, sketch))
          assert.same(kind.meet(sketch, sketch), kind.meet(sketch, file))
          assert.same(kind.meet(sketch, sketch), kind.meet(file, file))
        end
        file:close()
      end
    end
  end)

  it("counts, merges and copies right before anything else was asked", function()
    local sketch = form.filled()
    assert(sketch:save(path))
    for _, ask in ipairs {
      function(s) return s:count() end,
      function(s) return tostring(s):match "%((.-),"  end,
      function(s) return s:info().fill end,
      function(s) return s:copy():count() end,
      function(s) return s:copy():encode() end,
      function(s) return kind.immutable or form.empty():merge(s):count() end,
      function(s) return kind.immutable or form.empty():merge(s):encode() end,
      function(s) return kind.immutable or form.filled():merge(s):count() end,
      function(s) return kind.immutable or s:union(form.empty()):count() end,
      function(s) return kind.immutable or s:union(s):encode() end,
      function(s) return s.estimate and s:estimate() end,
      function(s) return s.bounds and select(2, s:bounds(2)) end,
      function(s) return s.jaccard and s:jaccard(form.filled()) end,
      function(s) return s.jaccard and form.filled():jaccard(s) end,
      function(s) return s.fold and s:fold(4):count() end,
      function(s) return s.fold and s:fold(4):encode() end,
    } do
      local file = assert(ps.open(path, { verify = false }))
      assert.equal(ask(sketch), ask(file))
      file:close()
    end
  end)

  it("is not changed by anything that is tried on it", function()
    local sketch = form.filled()
    local file = opened(sketch)
    local bytes = files.read(path)
    if not file:info().mapped then
      return
    end
    local refused = 0
    for name, method in pairs(debug.getmetatable(file).__index) do
      if not asking[name] then
        for _, argument in ipairs { kind.item(5000), kind.items(5000, 5005), sketch, 0.5, false } do
          expect.raise_saying("read-only", method, file, argument, 1)
        end
        expect.raise_saying("read-only", method, file)
        refused = refused + 1
      end
    end
    assert.is_true(refused >= (kind.immutable and 2 or 4), refused)
    expect.same_bytes(sketch:encode(), file:encode())
    expect.same_bytes(bytes, files.read(path))
    assert.same(kind.answers(sketch), kind.answers(file))
    file:close()
  end)

  it("gives copies and unions that go on like those of a sketch in memory", function()
    local sketch = form.filled()
    local file = opened(sketch, { verify = false })
    local made = { file:copy(), not kind.immutable and file:union(form.empty()) or nil }
    file:close()
    assert(os.remove(path))
    local empty = form.empty()
    for _, copy in ipairs(made) do
      assert.is_false(copy:info().mapped)
      if not kind.immutable then
        local control = _ == 1 and form.filled() or form.filled():union(empty)
        assert.equal(control:bytes(), copy:bytes())
        kind.fill(control, 3000, 3500)
        kind.fill(copy, 3000, 3500)
        expect.same_bytes(control:encode(), copy:encode())
        assert.same(control:info(), copy:info())
        expect.same_bytes(empty:encode(), copy:clear():encode())
      else
        assert.equal(sketch, copy)
      end
    end
  end)

  it("saves itself to other files and over its own", function()
    local sketch = form.filled()
    local file = opened(sketch)
    assert(file:save(directory .. "/other"))
    assert.equal(sketch, ps.load(directory .. "/other"))
    assert(file:save(path))
    assert.equal(sketch, file)
    assert.equal(sketch, ps.load(path))
    assert(form.empty():save(path))
    assert.equal(sketch, file)
    assert.same(kind.answers(sketch), kind.answers(file))
    assert(os.remove(path))
    assert.equal(sketch, file)
    file:close()
  end)

  it("is loaded from a file that holds the bytes of encode()", function()
    local sketch = form.filled()
    files.write(path, sketch:encode())
    for _, verify in ipairs { true, false } do
      local file = assert(ps.open(path, { verify = verify }))
      assert.is_false(file:info().mapped)
      assert.equal(sketch, file)
      assert.same(sketch:info(), file:info())
      if not kind.immutable then
        kind.fill(file, 3000, 3010)
        assert.equal(kind.fill(form.filled(), 3000, 3010), file)
      end
    end
  end)

  it("is refused as by load, and costs nothing then", function()
    local sketch = form.filled()
    assert(sketch:save(path))
    local whole = files.read(path)
    for length = 0, #whole - 1, 61 do
      files.write(path, whole:sub(1, length))
      expect.refusal("truncated", ps.open(path))
      expect.refusal("truncated", ps.open(path, { verify = false }))
    end
    files.write(path, whole .. "\0")
    expect.refusal("corrupt", ps.open(path, { verify = false }))
    for at = 1, #whole, 53 do
      local damaged = envelope.flipped(whole, at, at % 8)
      files.write(path, damaged)
      local _, message, code = ps.load(path)
      assert.equal(message, expect.refusal(code, ps.open(path)))
      local unverified, unverified_message, unverified_code = ps.open(path, { verify = false })
      assert.is_true(at > 4096 or unverified == nil)
      assert.is_true(unverified ~= nil or expect.refusal(nil, nil, unverified_message, unverified_code) ~= nil)
      assert.equal(damaged, files.read(path))
    end
    for _, corrupt in ipairs(kind.corrupt) do
      if corrupt[2] == form.name then
        local payload = corrupt[3](envelope.open(whole).payload)
        files.write(path, envelope.changed(whole, { payload = payload, payload_size = #payload }))
        expect.refusal("corrupt", ps.open(path))
        expect.refusal("corrupt", ps.open(path, { verify = false }))
      end
    end
    collectgarbage()
    collectgarbage()
    assert.is_false(is_mapped(path))
    local other = kinds.other(kind).name
    files.write(path, whole)
    assert.equal(("%s: kind mismatch (expected %s, got %s)"):format(path, other, kind.name),
      expect.refusal("kind", ps.open(path, { kind = other })))
  end)

  -- That nothing is read outside is for the C tests and sanitizers to see.
  it("answers something, whatever its bytes are and become, when it is not verified", function()
    local sketch = form.filled()
    assert(sketch:save(path))
    local parts = envelope.open(files.read(path))
    if parts.flags % 2 == 0 then
      return
    end
    local state, accepted = 12345, 0
    local function bytes(n)
      local all = {}
      for i = 1, n do
        state = (state * 16807) % 2147483647
        all[i] = string.char(math.floor(state / 4096) % 256)
      end
      return table.concat(all)
    end
    local function ask(file)
      kind.answers(file)
      file:info()
      assert.equal("boolean", type(file == sketch))
      tostring(file)
      if kind.meet then
        kind.meet(file, sketch)
      end
      file:copy():count()
      file:encode()
      if not kind.immutable then
        for _, pair in ipairs { { file, sketch }, { sketch, file }, { file, file } } do
          local fits, union = pcall(ps.union, pair[1], pair[2])
          assert.is_true(fits and kind.fill(union, 1, 50):count() ~= nil or union:find "full" ~= nil)
        end
      end
    end
    for _, payload in ipairs { bytes(#parts.payload), bytes(#parts.payload), ("\255"):rep(#parts.payload),
      ("\0"):rep(#parts.payload), bytes(math.floor(#parts.payload / 2)) .. parts.payload:sub(
        math.floor(#parts.payload / 2) + 1) } do
      parts.payload = payload
      files.write(path, envelope.seal(parts):sub(1, -9) .. "no check")
      expect.refusal("checksum", ps.open(path))
      local file, message, code = ps.open(path, { verify = false })
      if file == nil then
        expect.refusal("corrupt", file, message, code)
      else
        accepted = accepted + 1
        ask(file)
      end
    end
    assert.is_true(accepted >= 1)
    -- Changed in place, which nobody should do.
    assert(sketch:save(path))
    local file = assert(ps.open(path))
    local handle = assert(io.open(path, "r+b"))
    handle:seek("set", 4096)
    handle:write(bytes(#parts.payload))
    handle:close()
    ask(file)
    file:close()
  end)
end)

describe("the kinds", function()
  it("that work on their files do so", function()
    for _, name in ipairs { "bloom", "blocked_bloom", "counting_bloom", "cuckoo", "fuse", "count_min", "hyperloglog",
      "minhash" } do
      assert.is_true(mapped_kinds[name], name)
    end
  end)
end)

describe("an opened file", function()
  local sketch
  before_each(function()
    sketch = ps.bloom { bits = 2 ^ 20, hashes = 3 }
    sketch:add_many { "a", "b", 7 }
  end)

  it("is let go at once by close", function()
    assert(sketch:save(directory .. "/closed"))
    local file = assert(ps.open(directory .. "/closed"))
    assert.is_true(is_mapped "/closed")
    local next_piece = file:chunks(100)
    next_piece()
    file:close()
    assert.is_false(is_mapped "/closed")
    file:close()
    for name, method in pairs(debug.getmetatable(file).__index) do
      if name ~= "close" then
        expect.raise_saying("closed", method, file, sketch, sketch)
      end
    end
    expect.raise_saying("closed", next_piece)
    expect.raise_saying("closed", ps.union, file, sketch)
    expect.raise_saying("closed", sketch.merge, sketch, file)
    assert.equal("bloom (closed)", tostring(file))
    assert.is_false(file == sketch)
  end)

  it("is let go when it is collected, with a refusal at once", function()
    opened(sketch)
    assert.is_true(is_mapped(path))
    collectgarbage()
    collectgarbage()
    assert.is_false(is_mapped(path))
    local whole = files.read(path)
    files.write(path, envelope.flipped(whole, #whole, 0))
    expect.refusal("checksum", ps.open(path))
    assert.is_false(is_mapped(path))
  end)

  it("stays what it was when its path is given to another", function()
    local file = opened(sketch)
    local newer = sketch:copy()
    newer:add "c"
    assert(newer:save(path))
    assert.is_true(sketch == file and not file:has "c")
    assert.is_true(ps.open(path):has "c")
  end)

  it("may be closed by a finaliser in the middle of a call", function()
    sketch = ps.bloom { bits = 2 ^ 25, hashes = 3 }
    sketch:add_many { 1, 2, 3 }
    assert(sketch:save(path))
    local keys = {}
    for i = 1, 2000 do
      keys[i] = i
    end
    local calls = {
      function(file) return file:has_many(keys) end,
      function(file) return file:copy() end,
      function(file) return file:union(sketch) end,
      function(file) return sketch:union(file) end,
      function(file) return #file:encode() end,
    }
    for _, call in ipairs(calls) do
      for _ = 1, 3 do
        local file = assert(ps.open(path, { verify = false }))
        finaliser(function()
          file:close()
        end)
        local ok, problem = pcall(call, file)
        assert.is_true(ok or problem:find "closed" ~= nil, problem)
      end
    end
  end)
end)

describe("open", function()
  local sketch = kinds[1].fill(kinds[1].new(), 1, 50)

  it("refuses what is no regular file, at once", function()
    process.shell(("cd %s && mkfifo fifo && mkdir sub && ln -s fifo link && ln -s none dangling && ln -s loop loop")
      :format(quoted(directory)))
    assert(sketch:save(path))
    for _, name in ipairs { directory .. "/fifo", directory .. "/sub", directory .. "/sub/", directory .. "/link",
      directory .. "/dangling", directory .. "/loop", directory .. "/none", directory .. "/none/sketch",
      "/dev/null", "/dev/zero", directory .. "/" .. ("x"):rep(300) } do
      local message = expect.refusal("io", ps.open(name))
      assert.is_truthy(message:find(name:sub(1, 100), 1, true), message)
    end
    assert.equal(sketch, ps.open(directory .. "/../" .. directory:match "[^/]+$" .. "/sketch"))
  end)

  it("follows links, and keeps the file when they lead elsewhere", function()
    local newer = kinds[1].fill(kinds[1].new(), 1, 60)
    assert(sketch:save(directory .. "/v1"))
    assert(newer:save(directory .. "/v2"))
    local function deploy(version)
      process.shell(("cd %s && ln -s %s next && mv -T next current"):format(quoted(directory), version))
    end
    deploy "v1"
    process.shell(("cd %s && ln -s current list"):format(quoted(directory)))
    local file = assert(ps.open(directory .. "/list"))
    deploy "v2"
    assert.is_true(file:info().mapped)
    assert.equal(sketch, file)
    assert.equal(newer, assert(ps.open(directory .. "/list")))
    os.remove(directory .. "/v1")
    assert.equal(sketch, file)
    file:close()
  end)

  permitted("refuses a file that may not be read", function()
    assert(sketch:save(path))
    process.shell("chmod a-r " .. quoted(path))
    assert.equal(("nil\t%s: Permission denied\tio\n"):format(path),
      process.try_bound("print(require 'probsketch'.open((...)))", path))
    assert(os.remove(path))
  end)

  it("refuses an empty file and whatever is no sketch", function()
    files.write(path, "")
    expect.refusal("truncated", ps.open(path))
    for _, text in ipairs { "x", "a line\n", ("\0"):rep(10000), "\31\139\8" } do
      files.write(path, text)
      expect.refusal("magic", ps.open(path))
    end
  end)

  it("refuses what is above the limit", function()
    local large = ps.bloom { bits = 2 ^ 20, hashes = 3 }
    assert(large:save(path))
    local usual = ps.max_bytes()
    finally(function()
      ps.max_bytes(usual)
    end)
    ps.max_bytes(2 ^ 17 - 1)
    expect.refusal("limit", ps.open(path))
    ps.max_bytes(2 ^ 17)
    assert.equal(large, ps.open(path))
  end)

  it("raises for what is no path and no option", function()
    assert(sketch:save(path))
    for _, bad in ipairs { "", "a\0b", 5, true, {}, print } do
      expect.raise(ps.open, bad)
    end
    expect.raise(ps.open)
    assert.equal(sketch, ps.open(path, nil))
    assert.equal(sketch, ps.open(path, { kind = kinds[1].name }))
    assert.equal(sketch, ps.open(path, {}))
    for _, bad in ipairs { "bloom", 5, true, print } do
      expect.raise(ps.open, path, bad)
    end
    expect.raise_saying("{ kind = name }", ps.open, path, "bloom")
    expect.raise_saying("unknown option 'verfy'", ps.open, path, { verfy = true })
    expect.raise_saying("unknown option 1", ps.open, path, { "bloom" })
    for _, bad in ipairs { "blom", "", 5, true, {} } do
      expect.raise_saying("option 'kind': expected the name of a kind", ps.open, path, { kind = bad })
    end
    for _, name in ipairs { "verify", "populate" } do
      for _, bad in ipairs { "true", 0, 1, {} } do
        expect.raise_saying(("option '%s': expected true or false"):format(name), ps.open, path, { [name] = bad })
      end
    end
  end)

  measured("leaves no file open and no mapping, whatever comes of it", function()
    assert(sketch:save(path))
    files.write(directory .. "/bad", files.read(path):sub(1, -2) .. "x")
    local output = process.run([[
      local ps, directory = require "probsketch", ...
      local function held()
        local pipe = io.popen "sleep 0.1; ls /proc/$PPID/fd | wc -l; wc -l < /proc/$PPID/maps"
        local files, maps = pipe:read("*n", "*n")
        pipe:close()
        return files, maps
      end
      local function round()
        for _ = 1, 50 do
          assert(ps.open(directory .. "/sketch")):close()
          ps.open(directory .. "/sketch")
          ps.open(directory .. "/bad")
          ps.open(directory .. "/missing")
          ps.open(directory)
        end
        collectgarbage()
        collectgarbage()
      end
      round()
      local files, maps = held()
      round()
      local more_files, more_maps = held()
      print(more_files - files, more_maps - maps < 10)
    ]], directory)
    assert.equal("0\ttrue\n", output)
  end)
end)

-- What a process says of its own memory, in kilobytes.
local rollup = [[
  local function kilobytes(name)
    local file = assert(io.open("/proc/self/smaps_rollup"))
    local text = file:read "*a"
    file:close()
    return tonumber(text:match(name .. ":%s*(%d+) kB"))
  end
]]
local has_rollup = io.open "/proc/self/smaps_rollup" ~= nil

describe("a file of 120 MB", function()
  local large = has_rollup and measured or pending

  large("adds no private memory, and costs memory once for all processes #large", function()
    local bits = 960 * 2 ^ 20
    local sketch = ps.bloom { bits = bits, hashes = 4 }
    local keys = {}
    for i = 1, 1000 do
      keys[i] = i
    end
    sketch:add_many(keys)
    assert(sketch:save(path))
    local count = sketch:count()
    sketch:close()
    local script = directory .. "/worker.lua"
    files.write(script, rollup .. [[
      local ps, path, me, all, count = require "probsketch", ...
      local function private()
        return kilobytes "Private_Clean" + kilobytes "Private_Dirty"
      end
      local function wait_for_all(what)
        io.open(path .. what .. me, "w"):close()
        for i = 1, tonumber(all) do
          local deadline = os.time() + 60
          repeat
            local other = io.open(path .. what .. i)
            assert(os.time() < deadline, "the others do not come")
          until other and other:close()
        end
      end
      local before = private()
      local file = assert(ps.open(path, { verify = false }))
      local opened = private()
      assert(file:info().mapped and file:has(7) and file:bytes() < 600)
      assert(file:count() == tonumber(count)) -- which looks at every page
      wait_for_all ".read"
      local said = ("%d %d %d\n"):format(opened - before, private() - before, kilobytes "Pss")
      wait_for_all ".said"
      io.write(said)
    ]])
    local commands = {}
    for i = 1, 4 do
      commands[i] = process.command(process.interpreter, script, path, i, 4, ("%.0f"):format(count)) .. " &"
    end
    local output = process.shell(table.concat(commands, "\n") .. "\nwait")
    local workers, sum = 0, 0
    for at_first, read, pss in output:gmatch "(%-?%d+) (%-?%d+) (%d+)\n" do
      workers, sum = workers + 1, sum + tonumber(pss)
      assert.is_true(tonumber(at_first) < 1024 and tonumber(read) < 1024, output)
    end
    assert.equal(4, workers, output)
    assert.is_true(sum * 1024 > bits / 8 and sum * 1024 < bits / 8 + 32 * MEGABYTE, output)
  end)
end)
