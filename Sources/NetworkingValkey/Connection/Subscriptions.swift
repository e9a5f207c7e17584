#if Valkey
/// The subscribers of a connection.
struct Subscriptions {
    private var subscribers: [[UInt8]: [UInt64: Subscriber]] = [:]

    var isEmpty: Bool {
        subscribers.isEmpty
    }

    mutating func add(_ subscriber: Subscriber) {
        subscribers[subscriber.channel, default: [:]][subscriber.id] = subscriber
    }

    /// Removes a subscriber.
    ///
    /// - Returns: Whether it was the last one of its channel.
    mutating func remove(_ id: UInt64, from channel: [UInt8]) -> Bool {
        guard subscribers[channel]?.removeValue(forKey: id) != nil, subscribers[channel]?.isEmpty == true else {
            return false
        }
        subscribers[channel] = nil
        return true
    }

    func hasSubscriber(of channel: [UInt8]) -> Bool {
        subscribers[channel] != nil
    }

    /// Passes a message on.
    func send(_ message: [UInt8], to channel: [UInt8]) {
        for subscriber in (subscribers[channel] ?? [:]).values {
            // A subscriber that misses a message must know it.
            if case .dropped = subscriber.continuation.yield(message) {
                subscriber.continuation.finish(throwing: ValkeyError(.queueFull))
            }
        }
    }

    /// Ends all subscriptions.
    mutating func end(with error: ValkeyError) {
        let ending = subscribers.values.flatMap(\.values)
        subscribers = [:]
        for subscriber in ending {
            subscriber.continuation.finish(throwing: error)
        }
    }
}
#endif
