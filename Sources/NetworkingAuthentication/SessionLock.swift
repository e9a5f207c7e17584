import NetworkingCore
import Synchronization

/// The exclusive right to refresh a stored session.
///
/// It ends with ``release()``, or when the last reference to it is gone. A lock with a lease is renewed until then.
public final class SessionLock: Sendable {
    /// The random name by which the storage recognizes the holder; empty for a lock without a lease.
    public let owner: String
    private let lease: Lease?
    private let renewal: OwnedTask<Void>?
    private let end: Mutex<(@Sendable () -> Void)?>

    /// Creates a lock that is already held, and that nobody else can take before it is released.
    ///
    /// - Parameter release: Releases the lock; it is called once.
    public init(release: @escaping @Sendable () -> Void) {
        (owner, lease, renewal) = ("", nil, nil)
        end = Mutex(release)
    }

    /// Creates a lock that is already held, and that ends by itself unless it is renewed.
    ///
    /// It is renewed three times within each lease. If a renewal fails, the next one may still come in time.
    ///
    /// - Parameters:
    ///   - owner: The random name of the holder.
    ///   - duration: The time after which the lock ends if it is not renewed.
    ///   - start: The moment before the lock was requested, on the environment's clock.
    ///   - renew: Renews the lock for another lease, and returns `false` if another holder has it now.
    ///   - release: Releases the lock; it is called once. It must not release the lock of another holder.
    public init(
        owner: String,
        lease duration: Duration,
        since start: Duration,
        renew: @escaping @Sendable () async throws -> Bool,
        release: @escaping @Sendable () -> Void
    ) {
        let lease = Lease(duration, since: start, on: NetworkEnvironment.current.clock)
        self.owner = owner
        self.lease = lease
        renewal = OwnedTask.immediate { try await lease.keep(renew) }
        end = Mutex(release)
    }

    deinit {
        release()
    }

    /// Whether the lock was neither released nor lost.
    ///
    /// The holder measures its lease from before the request for it, so that the lock never ends earlier elsewhere.
    public var isHeld: Bool {
        end.withLock { $0 != nil } && lease?.isOver != true
    }

    /// Releases the lock; does nothing if it has already been released.
    public func release() {
        let end = end.withLock { $0.take() }
        renewal?.cancel()
        end?()
    }

    /// The time for which a lock is held.
    private final class Lease: Sendable {
        private let clock: NetworkClock
        private let duration: Duration
        /// The end of the lease; `nil` if another holder has the lock.
        private let end: Mutex<Duration?>

        init(_ duration: Duration, since start: Duration, on clock: NetworkClock) {
            (self.clock, self.duration) = (clock, duration)
            end = Mutex(start + duration)
        }

        var isOver: Bool {
            guard let end = end.withLock({ $0 }) else { return true }
            return clock.now >= end
        }

        /// Renews the lease until the task is cancelled or another holder has the lock.
        func keep(_ renew: @Sendable () async throws -> Bool) async throws {
            var start = clock.now
            while true {
                try await clock.sleep(until: start + duration / 3)
                start = clock.now
                // The storage may be reachable again at the next attempt.
                guard let isKept = try? await renew() else { continue }
                end.withLock { $0 = isKept ? start + duration : nil }
                guard isKept else { return }
            }
        }
    }
}
