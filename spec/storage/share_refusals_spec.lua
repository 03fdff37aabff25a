-- Where ps.share() finds no shared sketch and can make none: it says so, changes nothing and leaves nothing behind.

local ps = require "probsketch"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local memory = require "spec.support.memory"
local process = require "spec.support.process"

local quoted = files.quoted
local measured = memory.is_measurable and it or pending

local directory, path
before_each(function()
  directory = files.directory()
  path = directory .. "/sketch"
end)
after_each(function()
  files.remove(directory)
end)

local function new()
  return ps.count_min { width = 100, depth = 3 }
end

-- The message, which begins with the name; the system's may leave the end of a long one out.
local function refused(code, name)
  name = name or path
  local message = expect.refusal(code, ps.share(name, new()))
  assert.equal(name:sub(1, 150), message:sub(1, math.min(#name, 150)))
  return message
end

describe("a name that something else has", function()
  it("is refused if that is no file, at once", function()
    process.shell(("cd %s && mkdir sub && mkfifo fifo && ln -s none dangling && ln -s loop loop && ln -s sketch link")
      :format(quoted(directory)))
    assert(ps.share(path, new()))
    local names = files.list(directory)
    for _, name in ipairs { "/sub", "/sub/", "/", "/fifo", "/dangling", "/loop", "/link", "/none/sketch", "/sketch/x",
      "/sketch/", "/" .. ("x"):rep(300), ("/x"):rep(3000) } do
      local message = refused("io", directory .. name)
      assert.is_truthy(message:find((directory .. name):sub(1, 100), 1, true), message)
    end
    refused("io", "/dev/null")
    for _, name in ipairs { "/link", "/dangling", "/loop" } do
      assert.matches("a symbolic link", refused("io", directory .. name))
    end
    assert.same(names, files.list(directory))
  end)

  it("is refused if that is no shared sketch of the same, and it stays what it is", function()
    local shared = assert(ps.share(path, new()))
    shared:add("key", 7)
    local live = files.read(path)
    local function check(code, bytes)
      files.write(path, bytes)
      local message = refused(code)
      expect.same_bytes(bytes, files.read(path))
      return message
    end
    check("truncated", "")
    check("magic", "x")
    check("magic", ("x"):rep(20000))
    check("version", envelope.spliced(live, 5, "\2"))
    for _, size in ipairs { 1, 31, 32, 4095, 4096, 4103, 4104, #live - 1 } do
      check("truncated", live:sub(1, size))
    end
    check("corrupt", live .. "\0")
    check("corrupt", live .. ("\0"):rep(4096))
    for at = 1, 4096, 17 do
      check(nil, envelope.flipped(live, at, at % 8))
    end
    check("mismatch", new():encode())
    -- With checksums that fit.
    local parts = envelope.open(live)
    for name, values in pairs {
      kind = { 0, parts.kind + 1, 255 }, hash = { 0, 255 }, flags = { parts.flags + 8, parts.flags - 1 },
      offset = { 0, 4095, 4097 }, fields_size = { 0, parts.fields_size - 1, parts.fields_size + 1, 2 ^ 32 - 1 },
      payload_size = { 0, parts.payload_size - 8, parts.payload_size + 8, envelope.hexadecimal "fffffffffffff000" },
      seed = { envelope.little(8, 1) },
    } do
      for _, value in ipairs(values) do
        check(nil, envelope.changed(live, { [name] = value }))
      end
    end
    for at = 1, #parts.fields do
      check(nil, envelope.changed(live, { fields = envelope.flipped(parts.fields, at, 0) }))
    end
    for _, other in ipairs { ps.count_min { width = 101, depth = 3 }, ps.count_min { width = 100, depth = 4 },
      ps.count_min { width = 100, depth = 3, counter_bits = 16 }, ps.count_min { width = 100, depth = 3, seed = 1 } } do
      os.remove(path)
      assert(ps.share(path, other))
      check("mismatch", files.read(path))
    end
    -- What was there is as good as before.
    files.write(path, live)
    assert.equal(7, assert(ps.share(path, new())):frequency "key")
    assert.same({ "sketch" }, files.list(directory))
  end)
end)

-- Runs a command of the shell, then ps.share() of a path with a byte or two for each of `capacity` keys, and says what
-- came of it and is in the directory.
local function share_after(command, prefix, name, capacity)
  local script = os.tmpname()
  files.write(script, [[
    local ps, path, capacity = require "probsketch", ...
    print(select(2, ps.share(path, ps.blocked_bloom { capacity = tonumber(capacity) })))
  ]])
  local inner = ("%s && %s; ls -A %s"):format(command,
    process.command(process.interpreter, script, name, capacity), quoted(directory))
  local output = process.shell(prefix .. "sh -c " .. quoted(inner))
  os.remove(script)
  return output
end

local bound, mounting = process.bound(), process.mounting()
local permitted, mounted = bound and it or pending, mounting and it or pending

describe("sharing", function()
  permitted("is refused where permission is not given", function()
    local function check(mode, what)
      process.shell(("chmod %s %s"):format(mode, quoted(what)))
      local output = share_after("true", bound, path, 100)
      process.shell("chmod -R u+rwx " .. quoted(directory))
      assert.matches("^%S+/sketch: Permission denied\tio\n", output)
    end
    check("500", directory)
    check("000", directory)
    assert.same({}, files.list(directory))
    assert(ps.share(path, ps.blocked_bloom { capacity = 100 }))
    check("400", path)
    check("200", path)
  end)

  mounted("is refused where there is no room, and nothing is left there", function()
    local mount = "mount -t tmpfs -o %s none " .. quoted(directory)
    assert.equal(("%s: No space left on device\tio\n"):format(path),
      share_after(mount:format "size=64k", mounting, path, 1e5))
    assert.equal(("%s: Read-only file system\tio\n"):format(path),
      share_after(mount:format "ro", mounting, path, 1e5))
    assert.equal("\nsketch\n", share_after(mount:format "size=64k", mounting, path, 100))
  end)

  measured("is refused where a process may have no more memory", function()
    local script = directory .. "/script.lua"
    files.write(script, [[
      local ps, path = require "probsketch", ...
      local sketch = ps.bloom { bits = 2 ^ 30, hashes = 3 }
      print(select(2, ps.share(path, sketch)))
      print(pcall(ps.share, "region", sketch))
      print(sketch:add "key", ps.share("region", ps.bloom { capacity = 10 }):has "key")
    ]])
    local output = process.shell("ulimit -v 204800; " .. process.command(process.interpreter, script, path))
    assert.equal(path .. ": Cannot allocate memory\tio\nfalse\tnot enough memory\ntrue\tfalse\n", output)
    assert.same({ "script.lua" }, files.list(directory))
  end)
end)
