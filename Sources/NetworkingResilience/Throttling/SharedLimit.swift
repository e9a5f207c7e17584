package import NetworkingCore

/// The part of a ``RateLimiter`` that takes its permits from a store, which other processes use, too.
package protocol SharedLimit: AnyObject, Sendable {
    /// The number of waiting requests.
    var waiting: Int { get }

    /// The number of keys in memory.
    var keys: Int { get }

    /// Takes permits, or enters the queue of a key.
    func take(
        _ weight: Int,
        _ priority: RequestPriority,
        _ key: String,
        waitingUpTo maximumWait: Duration?,
        on clock: NetworkClock
    ) -> RateLimiter.Decision

    /// Returns permits that were not used.
    func giveBack(_ place: WaitPlace, _ key: String, on clock: NetworkClock)

    /// Removes a place after its caller has stopped waiting; later places move up.
    func left(_ place: WaitPlace, _ key: String, on clock: NetworkClock)

    /// Returns the moment at which a wait ends by itself.
    ///
    /// How long a request has to wait is not known when it enters the queue.
    func end(ofWaitFrom start: Duration, upTo maximumWait: Duration) -> Duration

    /// Returns the time that the first request in the queue of a key has to wait at least.
    func wait(_ key: String, on clock: NetworkClock) -> Duration

    /// Reports to the listeners of a request that it was sent without the store.
    func report(_ request: HTTPRequestData, _ key: String)
}

/// The error of a wait that ends because the permit comes too late.
package struct RateLimitReached: Error {
    /// The time until the next permit.
    package let wait: Duration

    package init(wait: Duration) {
        self.wait = wait
    }
}
