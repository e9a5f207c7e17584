#if Valkey
/// The scripts of ``ValkeySessionStorage``.
enum SessionScript {
    static let remove = ValkeyScript("return redis.call('DEL', KEYS[1])")

    static let renew = ValkeyScript(
        """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('PEXPIRE', KEYS[1], ARGV[2])
        """
    )

    static let release = ValkeyScript(
        """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('DEL', KEYS[1])
        """
    )

    /// Stores a session, unless another holder has the lock or the session has changed.
    ///
    /// If nobody has the lock any more, the session is still the one that the former holder has read, and its
    /// successor is the new one.
    static let replace = ValkeyScript(
        """
        local holder = redis.call('GET', KEYS[1])
        if holder and holder ~= ARGV[1] then return 0 end
        if (redis.call('GET', KEYS[2]) or '') ~= ARGV[2] then return 0 end
        redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
        return 1
        """
    )
}
#endif
