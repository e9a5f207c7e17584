#if Valkey
/// The scripts of ``ValkeyCacheStore``; each of them is one step in the server.
///
/// `KEYS[1]` is the index of a part of the cache: a sorted set with the name of each key of the part and the time at
/// which its entries expire. Its empty name has the state of the part, a negative random number that each removal by a
/// predicate replaces. `KEYS[2]` is the state of a URL, a random text that each removal of the URL replaces.
/// `KEYS[3]` is a hash with the entries of a key. They are valid for the state of the URL in which they were stored,
/// while the index has their key. So a removal of a URL needs no list of its keys, and entries whose index or state the
/// server has evicted are not found.
enum CacheScript {
    /// A function that returns the number of the latest change of a URL, a digest of both states; `nil` if the server
    /// has evicted one of them, or if they have expired.
    private static let number = """
        local function number()
          local part, url = redis.call('ZSCORE', KEYS[1], ''), redis.call('GET', KEYS[2])
          return part and url and redis.sha1hex(part .. ':' .. url):sub(1, 15)
        end

        """

    /// A function that makes a key expire later.
    private static let extend = """
        local function extend(key, time)
          if redis.call('PTTL', key) < tonumber(time) then redis.call('PEXPIRE', key, time) end
        end

        """

    /// Returns the fields of a hash with entries; the argument is the name of its key.
    static let read = ValkeyScript(
        """
        local url = redis.call('GET', KEYS[2])
        if not url or redis.call('HGET', KEYS[3], 'url') ~= url then return {} end
        if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return {} end
        return redis.call('HGETALL', KEYS[3])
        """
    )

    /// Returns the number of the latest change of a URL, whose states it creates from the first arguments if there are
    /// none, and keeps at least for the time of the third one.
    static let changeNumber = ValkeyScript(
        number + extend
            + """
            redis.call('ZADD', KEYS[1], 'NX', ARGV[1], '')
            redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3], 'NX')
            extend(KEYS[1], ARGV[3])
            extend(KEYS[2], ARGV[3])
            return number()
            """
    )

    /// Stores an entry if the first argument is the number of the latest change of its URL, and returns the number of
    /// evicted entries.
    ///
    /// The other arguments are the name of the key, the sealed key, the id and the value of the entry, its lifetime,
    /// and the maximum number of variants, size of all of them, and number of keys in the index.
    static let store = ValkeyScript(
        number + extend
            + """
            if number() ~= ARGV[1] then return false end
            local name, key, id, value, lifetime = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
            local url, clock = redis.call('GET', KEYS[2]), redis.call('TIME')
            local now = clock[1] * 1000
            local order = ''
            if redis.call('ZSCORE', KEYS[1], name) and redis.call('HGET', KEYS[3], 'url') == url then
              order = redis.call('HGET', KEYS[3], 'order') or ''
            else
              redis.call('DEL', KEYS[3])
            end
            redis.call('ZADD', KEYS[1], string.format('%.0f', now + lifetime), name)
            local kept, size, evicted = {}, #value, 0
            for start = 1, #order, 32 do
              local other = order:sub(start, start + 31)
              local length = redis.call('HSTRLEN', KEYS[3], other)
              if other ~= id and length > 0 then
                kept[#kept + 1] = other
                size = size + length
              end
            end
            while #kept > 0 and (#kept >= tonumber(ARGV[7]) or size > tonumber(ARGV[8])) do
              local oldest = table.remove(kept, 1)
              size = size - redis.call('HSTRLEN', KEYS[3], oldest)
              redis.call('HDEL', KEYS[3], oldest)
              evicted = evicted + 1
            end
            kept[#kept + 1] = id
            redis.call('HSET', KEYS[3], 'url', url, 'key', key, 'order', table.concat(kept), id, value)
            redis.call('PEXPIRE', KEYS[3], lifetime)
            extend(KEYS[1], lifetime)
            extend(KEYS[2], lifetime)
            redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, string.format('%.0f', now))
            local surplus = redis.call('ZCARD', KEYS[1]) - 1 - ARGV[9]
            if surplus > 0 then evicted = evicted + redis.call('ZREMRANGEBYRANK', KEYS[1], 1, surplus) end
            return evicted
            """
    )

    /// Returns the state of the groups at an origin, which it creates from the first argument if there is none, and
    /// keeps at least for the time of the second one.
    ///
    /// The only key is a hash with the random epoch, the number of removals, and for each removed group the number of
    /// its latest removal. An entry has the state from before its request. It is valid while the epoch is the same and
    /// none of its groups has a later removal. So a removal of a group needs no list of its entries.
    static let groupState = ValkeyScript(
        extend
            + """
            redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
            extend(KEYS[1], ARGV[2])
            return redis.call('HGET', KEYS[1], 'epoch') .. ':' .. (redis.call('HGET', KEYS[1], 'removals') or '0')
            """
    )

    /// Returns the epoch of the groups at an origin, and the numbers of the latest removals in the fields of the
    /// arguments.
    static let groupRemovals = ValkeyScript("return redis.call('HMGET', KEYS[1], 'epoch', unpack(ARGV))")

    /// Removes groups at an origin.
    ///
    /// The arguments are a new epoch, the lifetime, the maximum number of fields, and the fields of the groups. If
    /// there are too many fields, or if the server is full, it removes all groups.
    static let removeGroups = ValkeyScript(
        extend
            + """
            local number = redis.pcall('HINCRBY', KEYS[1], 'removals', 1)
            if type(number) ~= 'number' or redis.call('HLEN', KEYS[1]) + #ARGV - 3 > tonumber(ARGV[3]) then
              redis.call('DEL', KEYS[1])
              return 0
            end
            redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
            for index = 4, #ARGV do redis.call('HSET', KEYS[1], ARGV[index], number) end
            extend(KEYS[1], ARGV[2])
            return number
            """
    )

    /// Removes the state of a URL, and so all its entries.
    static let removeURL = ValkeyScript("return redis.call('DEL', KEYS[1])")

    /// Removes all entries of a URL, and returns the number of this change if there was none since a number.
    ///
    /// The arguments are that number, the new state, and its lifetime.
    static let removeUnchangedURL = ValkeyScript(
        number
            + """
            local isUnchanged = number() == ARGV[1]
            redis.call('DEL', KEYS[2])
            if not isUnchanged then return false end
            redis.pcall('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
            return number()
            """
    )

    /// Removes the entry with an id, or all entries of a key.
    static let removeEntry = ValkeyScript(
        """
        if ARGV[1] then return redis.call('HDEL', KEYS[1], ARGV[1]) end
        return redis.call('DEL', KEYS[1])
        """
    )

    /// Replaces the state of a part by the argument, and returns the names of its keys.
    static let changePart = ValkeyScript(
        """
        redis.call('ZADD', KEYS[1], 'XX', ARGV[1], '')
        return redis.call('ZRANGEBYSCORE', KEYS[1], 0, '+inf')
        """
    )

    /// Returns the sealed keys of hashes.
    static let sealedKeys = ValkeyScript(
        """
        local keys = {}
        for number, key in ipairs(KEYS) do keys[number] = redis.call('HGET', key, 'key') end
        return keys
        """
    )

    /// Removes the hashes of several keys and their names, the arguments after the new state of the part.
    static let removeKeys = ValkeyScript(
        """
        redis.pcall('ZADD', KEYS[1], 'XX', ARGV[1], '')
        for number = 2, #KEYS do
          redis.call('DEL', KEYS[number])
          redis.call('ZREM', KEYS[1], ARGV[number])
        end
        return #KEYS - 1
        """
    )
}
#endif
