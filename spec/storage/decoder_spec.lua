-- A sketch from bytes that come in pieces: however they are cut it is the one that went, and nobody waits for it long.

local ps = require "probsketch"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local kinds = require "spec.support.kinds"
local memory = require "spec.support.memory"
local process = require "spec.support.process"

local measured = memory.is_measurable and it or pending

local MEGABYTE = 2 ^ 20

local path
setup(function()
  path = os.tmpname()
end)
teardown(function()
  os.remove(path)
end)

-- The bytes of a sketch in either placement.
local function placements(sketch)
  assert(sketch:save(path))
  return { sketch:encode(), files.read(path) }
end

-- Feeds all in pieces of n bytes; returns what feeding or finishing answers.
local function fed(bytes, n, kind)
  local decoder = ps.decoder(kind)
  for at = 1, #bytes, n do
    local taken, message, code = decoder:feed(bytes:sub(at, at + n - 1))
    if taken ~= true then
      return taken, message, code
    end
  end
  return decoder:finish()
end

local function filled(kind, options, n)
  local sketch = kind.new(options)
  return kind.immutable and sketch or kind.fill(sketch, 1, n)
end

kinds.describe_forms(describe, function(form, kind)
  it("comes back from pieces of any size", function()
    for _, sketch in ipairs { form.filled(), form.empty() } do
      for _, bytes in ipairs(placements(sketch)) do
        for _, n in ipairs { 1, 7, 31, 32, 33, 100, 4095, 4096, 4097, #bytes - 1, #bytes } do
          local back = assert(fed(bytes, n))
          assert.equal(sketch, back)
          assert.same(sketch:info(), back:info())
          assert.same(kind.answers(sketch), kind.answers(back))
          expect.same_bytes(sketch:encode(), back:encode())
        end
      end
    end
  end)

  kinds.changing(kind, it)("goes on afterwards like one that never went", function()
    local control = kind.fill(form.filled(), 3000, 3500)
    local back = kind.fill(assert(fed(form.filled():encode(), 10)), 3000, 3500)
    expect.same_bytes(control:encode(), back:encode())
    assert.same(control:info(), back:info())
    expect.same_bytes(form.empty():encode(), back:clear():encode())
  end)

  it("is refused when not all has come, or something twice, or more", function()
    for _, bytes in ipairs(placements(form.filled())) do
      for length = 0, #bytes - 1, 61 do
        expect.refusal("truncated", fed(bytes:sub(1, length), 50))
      end
      local header = envelope.open(bytes).offset
      for _, length in ipairs { header - 1, header, header + 1, #bytes - 8, #bytes - 1 } do
        expect.refusal("truncated", fed(bytes:sub(1, length), 50))
      end
      expect.refusal("truncated", fed(bytes:sub(1, -2), #bytes))
      expect.refusal("corrupt", fed(bytes .. "\0", 50))
      expect.refusal("corrupt", fed(bytes .. "\0", #bytes))
      expect.refusal("corrupt", fed(bytes .. bytes, #bytes))
      local cut = math.floor(#bytes / 3)
      local first, second, third = bytes:sub(1, cut), bytes:sub(cut + 1, 2 * cut), bytes:sub(2 * cut + 1)
      for _, wrong in ipairs { { first, first, second, third }, { first, second, second, third },
        { first, second, third, third }, { second, first, third }, { first, third }, { second, third } } do
        expect.refusal(nil, fed(table.concat(wrong), cut))
      end
    end
  end)

  it("is refused when it was damaged, as a string is, and then for good", function()
    for _, bytes in ipairs(placements(form.filled())) do
      for at = 1, #bytes, 37 do
        local damaged = envelope.flipped(bytes, at, at % 8)
        local _, message, code = ps.decode(damaged)
        -- What the header claims of the length is held against what there is only in the end.
        local answer = expect.refusal(code ~= "truncated" and code or nil, fed(damaged, 40))
        assert.is_truthy(code == "truncated" or answer == message or answer:find "behind the end", answer)
      end
    end
    local decoder = ps.decoder()
    local message = expect.refusal("checksum", decoder:feed(envelope.flipped(form.filled():encode(), 33, 0)))
    for _ = 1, 2 do
      assert.equal(message, expect.refusal("checksum", decoder:feed "more"))
    end
    assert.equal(message, expect.refusal("checksum", decoder:finish()))
    expect.raise_saying("finished", decoder.finish, decoder)
  end)

  it("is refused when no calls lead to it", function()
    local bytes = form.filled():encode()
    for _, corrupt in ipairs(kind.corrupt) do
      if corrupt[2] == form.name then
        local payload = corrupt[3](envelope.open(bytes).payload)
        local unsound = envelope.changed(bytes, { payload = payload, payload_size = #payload })
        assert.equal(expect.refusal("corrupt", ps.decode(unsound)), expect.refusal("corrupt", fed(unsound, 100)))
      end
    end
  end)

  it("comes back as the kind that is asked for, and as no other", function()
    local sketch = form.filled()
    local bytes, other = sketch:encode(), kinds.other(kind).name
    assert.equal(sketch, fed(bytes, 100, kind.name))
    assert.equal(sketch, fed(bytes, 100, kind.alias))
    assert.equal(("kind mismatch (expected %s, got %s)"):format(other, kind.name),
      expect.refusal("kind", fed(bytes, 100, other)))
  end)

  measured("claims no memory before its bytes come", function()
    local bytes = form.filled():encode()
    local growth = memory.growth(function()
      for _, claim in ipairs { "0000000000100000", "0000000080000000", "0000000100000000", "4000000000000000",
        "7fffffffffffffff", "fffffffffffffff7", "ffffffffffffffff" } do
        local function try(hostile)
          local decoder = ps.decoder()
          decoder:feed(hostile:sub(1, -9))
          expect.refusal(nil, decoder:finish())
        end
        try(envelope.changed(bytes, { payload_size = envelope.hexadecimal(claim) }))
        local fields, at = envelope.open(bytes).fields, 1
        for _, field in ipairs(kind.fields) do
          if field.sizes then
            local changed = envelope.spliced(fields, at, envelope.hexadecimal(claim))
            try(envelope.changed(bytes, { fields = changed, payload_size = envelope.hexadecimal(claim) }))
          end
          at = at + field[2]
        end
      end
    end)
    assert.is_true(growth < MEGABYTE, growth)
  end)
end)

kinds.describe(describe, function(kind)
  it("is refused above the limit as soon as its header has come", function()
    local bytes, needed = filled(kind, kind.megabytes, 50):encode(), kind.bytes(kind.megabytes)
    local usual = ps.max_bytes()
    finally(function()
      ps.max_bytes(usual)
    end)
    ps.max_bytes(needed - 1)
    local message = expect.refusal("limit", ps.decoder():feed(bytes:sub(1, 200)))
    assert.equal(("needs %.0f bytes, limit %.0f (max_bytes)"):format(needed, needed - 1), message)
  end)

  it("comes back large, from pieces of a megabyte and others", function()
    for _, options in ipairs { kind.megabytes, kind.page } do
      local sketch = filled(kind, options, 3000)
      local bytes, info = sketch:encode(), sketch:info()
      for _, n in ipairs { 1000, MEGABYTE, MEGABYTE + 1 } do
        local back = assert(fed(bytes, n))
        assert.equal(sketch, back)
        assert.same(info, back:info())
        back:close()
      end
      sketch:close()
    end
  end)

  -- What 64 MB cost in fresh pages one kind shows on every Lua.
  local whole = kind.pages and measured or function() end
  whole("is whole in the end at once, and was there but once" .. (kind == kinds[1] and "" or " #slow"), function()
    local output = process.run([[
      local ps, memory = require "probsketch", require "spec.support.memory"
      local kind = require "spec.support.kinds"[(...)]
      local sketch = kind.fill(kind.new(kind.pages), 1, 500)
      local least = math.huge
      for _ = 1, 3 do
        local decoder, feeding = ps.decoder(), 0
        for piece in sketch:chunks(2 ^ 20) do
          local start = os.clock()
          assert(decoder:feed(piece))
          feeding = feeding + os.clock() - start
        end
        local start = os.clock()
        local back = assert(decoder:finish())
        least = math.min(least, (os.clock() - start) / feeding)
        assert(back == sketch)
        back:close()
      end
      print(least, memory.peak())
    ]], kind.name)
    local share, peak = output:match "(%S+)%s+(%S+)"
    assert.is_true(tonumber(share) < 0.1, output)
    assert.is_true(tonumber(peak) < 160e6, output) -- two sketches, and pieces of them
  end)
end)

describe("a decoder", function()
  local sketch = kinds[1].fill(kinds[1].new(), 1, 50)
  local bytes = sketch:encode()

  it("is finished once, and takes nothing afterwards", function()
    local decoder = ps.decoder()
    assert.is_true(decoder:feed(bytes))
    assert.equal(1, select("#", decoder:feed ""))
    assert.is_true(decoder:feed "")
    assert.equal(sketch, decoder:finish())
    expect.raise_saying("finished", decoder.feed, decoder, bytes)
    expect.raise_saying("finished", decoder.feed, decoder, "")
    expect.raise_saying("finished", decoder.finish, decoder)
    local early = ps.decoder()
    early:feed(bytes:sub(1, 50))
    expect.refusal("truncated", early:finish())
    expect.raise_saying("finished", early.feed, early, bytes:sub(51))
    expect.refusal("truncated", ps.decoder():finish())
  end)

  it("refuses what is no sketch", function()
    expect.refusal("magic", fed("not a sketch, but long enough", 5))
    expect.refusal("magic", fed("x", 1))
    expect.refusal("magic", fed(("\0"):rep(10000), 100))
    expect.refusal("truncated", fed("\143PS", 1))
    expect.refusal("version", fed("\143PSK\2" .. ("\0"):rep(100), 1))
  end)

  it("takes strings only, and changes nothing for others", function()
    local decoder = ps.decoder()
    decoder:feed(bytes:sub(1, 50))
    for _, bad in ipairs { 5, true, {}, print, sketch, decoder } do
      expect.raise_saying("string expected", decoder.feed, decoder, bad)
    end
    expect.raise(decoder.feed, decoder)
    decoder:feed(bytes:sub(51))
    assert.equal(sketch, decoder:finish())
    for _, bad in ipairs { "", "blom", 5, true, {} } do
      expect.raise(ps.decoder, bad)
    end
    for _, bad in ipairs { sketch, io.stdout, {}, "x" } do
      expect.raise_saying("decoder expected", decoder.feed, bad, bytes)
      expect.raise_saying("decoder expected", decoder.finish, bad)
    end
  end)

  it("is no sketch", function()
    for _, part in ipairs { "", bytes:sub(1, 100), bytes } do
      local decoder = ps.decoder()
      decoder:feed(part)
      assert.is_nil(ps.kind(decoder))
      for name, method in pairs(debug.getmetatable(sketch).__index) do
        expect.raise_saying("expected", method, decoder, name)
      end
      expect.raise(sketch.merge, sketch, decoder)
      expect.raise(ps.union, decoder)
      assert.is_false(sketch == decoder)
      assert.is_nil(decoder.count)
      assert.equal(("decoder (%d bytes fed)"):format(#part), tostring(decoder))
    end
  end)

  it("may be closed, and is then closed to all but another close", function()
    local decoder = ps.decoder()
    decoder:feed(bytes:sub(1, 100))
    assert.equal(0, select("#", decoder:close()))
    decoder:close()
    expect.raise_saying("closed", decoder.feed, decoder, bytes)
    expect.raise_saying("closed", decoder.finish, decoder)
    assert.equal("decoder (closed)", tostring(decoder))
    local finished = ps.decoder()
    finished:feed(bytes)
    local back = finished:finish()
    finished:close()
    debug.getmetatable(finished).__gc(finished)
    assert.equal(sketch, back)
    expect.raise(debug.getmetatable(decoder).__gc, io.stdout)
    if _VERSION == "Lua 5.4" then
      local left = load "local decoder <close> = ...; return decoder"(ps.decoder())
      expect.raise_saying("closed", left.finish, left)
    end
  end)

  it("takes 64 MiB from pieces of any size, once and in order #large", function()
    local large, keys = ps.blocked_bloom { capacity = 4.2e7, fp_rate = 0.003 }, {}
    for i = 1, 300000 do
      keys[i] = i
    end
    large:add_many(keys)
    local whole = large:encode()
    assert.is_true(#whole > 64 * MEGABYTE)
    for n, other in pairs { [2 ^ 10] = MEGABYTE, [MEGABYTE] = MEGABYTE + 1, [MEGABYTE + 1] = 2 ^ 10 } do
      local decoder, at = ps.decoder(), 0
      for piece in large:chunks(n) do
        assert(decoder:feed(piece))
        at = at + #piece
      end
      assert.equal(#whole, at)
      assert.equal(large, assert(decoder:finish()))
      assert.equal(large, assert(fed(whole, other)))
    end
    local n = MEGABYTE
    local first, second, third, rest = whole:sub(1, n), whole:sub(n + 1, 2 * n), whole:sub(2 * n + 1, 3 * n),
      whole:sub(3 * n + 1)
    expect.refusal("checksum", fed(first .. second .. second .. rest, n))
    expect.refusal("checksum", fed(first .. third .. second .. rest, n))
    expect.refusal("corrupt", fed(first .. second .. second .. third .. rest, n))
    expect.refusal("truncated", fed(first .. second .. third, n))
  end)

  it("does not know of others", function()
    local a, b = ps.decoder(), ps.decoder()
    for at = 1, #bytes do
      assert(a:feed(bytes:sub(at, at)))
      assert(b:feed(bytes:sub(at, at)))
    end
    assert.equal(sketch, a:finish())
    assert.equal(sketch, b:finish())
  end)

  it("is not pulled away by a finaliser that feeds, finishes or closes it", function()
    local output = process.run [[
      local ps, finaliser = require "probsketch", require "spec.support.finaliser"
      local sketches = { ps.bloom { capacity = 1e6 }, ps.bloom { bits = 2 ^ 26, hashes = 3 },
        ps.scalable_bloom { capacity = 1e6 } }
      local victim, act, met
      local function arm()
        finaliser(function()
          local decoder = victim
          victim = nil
          if decoder then
            met[act] = (met[act] or 0) + 1
            pcall(decoder[act], decoder, "xyz")
          end
          arm()
        end)
      end
      collectgarbage("setpause", 0)
      collectgarbage("setstepmul", 1000)
      met = {}
      arm()
      for i, sketch in ipairs(sketches) do
        local bytes = sketch:encode()
        for round = 1, i == 2 and 12 or 60 do
          act = ({ "feed", "finish", "close" })[round % 3 + 1]
          local decoder = ps.decoder()
          if round % 2 == 0 then victim = decoder end
          local fine, problem = pcall(function()
            for at = 1, #bytes, 2 ^ 19 do
              if not decoder:feed(bytes:sub(at, at + 2 ^ 19 - 1)) then return end
            end
            victim = victim or round % 2 == 1 and decoder or nil
            local back = decoder:finish()
            assert(back == nil or back == sketch)
          end)
          victim = nil
          assert(fine or problem:find "closed" or problem:find "finished", problem)
        end
      end
      print(met.feed, met.finish, met.close)
    ]]
    assert.is_nil(output:find "nil", output)
  end)

  measured("needs few addresses where a process has few", function()
    local large = ps.bloom { bits = 2 ^ 27, hashes = 3 }
    large:add_many { 1, 2, 3 }
    assert(large:save(path))
    local script = os.tmpname()
    files.write(script, [[
      local ps, envelope = require "probsketch", require "spec.support.envelope"
      local bits = 2 ^ 34
      local hostile = envelope.changed(ps.bloom { bits = 64, hashes = 3 }:encode(), {
        fields = envelope.little(8, bits) .. envelope.little(4, 3) .. envelope.little(8, 2 ^ 31)
          .. envelope.hexadecimal "3ff0000000000000",
        payload_size = envelope.little(8, bits / 8),
      })
      local decoder = ps.decoder()
      print(decoder:feed(hostile))
      print(select(3, decoder:finish()))
      local file, decoder = assert(io.open((...), "rb")), ps.decoder()
      for piece in function() return file:read(2 ^ 20) end do
        assert(decoder:feed(piece))
      end
      print(decoder:finish():count())
    ]])
    local shown, status = process.shell("ulimit -v 262144; " .. process.command(process.interpreter, script, path))
    os.remove(script)
    assert.equal(0, status, shown)
    assert.equal("true\ntruncated\n3\n", shown)
  end)

  measured("gives its memory back when it is dropped", function()
    local large = ps.bloom { bits = 2 ^ 26, hashes = 3 }:encode()
    local growth = memory.growth(function()
      for _ = 1, 20 do
        ps.decoder():feed(large:sub(1, -20))
      end
    end)
    assert.is_true(growth < 4 * MEGABYTE, growth)
    local decoder = ps.decoder()
    decoder:feed(large)
    local before = memory.resident()
    decoder:close()
    assert.is_true(before - memory.resident() > 7e6)
  end)
end)
