#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A mutex that replaces the standard library's under the thread sanitizer, and has the same interface.
///
/// The sanitizer knows the locks of pthread. The standard library's on Linux waits on a futex by itself, which the
/// sanitizer does not see, so that everything behind it looks like a race. `run` puts this file into each target of a
/// copy of the package, where it hides the imported one.
struct Mutex<Value: ~Copyable>: ~Copyable {
    private let storage: Storage

    init(_ value: consuming sending Value) {
        storage = Storage(value)
    }

    borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(storage.lock)
        defer { pthread_mutex_unlock(storage.lock) }
        return try body(&storage.value)
    }

    borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard pthread_mutex_trylock(storage.lock) == 0 else { return nil }
        defer { pthread_mutex_unlock(storage.lock) }
        return try body(&storage.value)
    }

    private final class Storage {
        let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        var value: Value

        init(_ value: consuming sending Value) {
            lock.initialize(to: pthread_mutex_t())
            pthread_mutex_init(lock, nil)
            self.value = value
        }

        deinit {
            pthread_mutex_destroy(lock)
            lock.deallocate()
        }
    }
}

// @unchecked because the lock is what makes it so, as in the standard library's.
extension Mutex: @unchecked Sendable where Value: ~Copyable {}
