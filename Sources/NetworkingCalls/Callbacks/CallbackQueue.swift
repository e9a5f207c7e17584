import Dispatch

/// The main queue, for closures that are isolated to the main actor.
public enum MainQueue: Sendable {
    /// The main queue.
    case main
}

extension MainQueue {
    /// Returns a closure for the main queue that calls a closure of the main actor.
    static func closure<Value: Sendable>(
        _ body: @escaping @MainActor (Value) -> Void
    ) -> @Sendable (Value) -> Void {
        { value in
            MainActor.assumeIsolated { body(value) }
        }
    }
}

/// A queue on which closures run in order and one at a time, on the threads of a queue of the app.
struct CallbackQueue: Sendable {
    static let main = CallbackQueue(.main)

    private let queue: DispatchQueue

    init(_ queue: DispatchQueue) {
        // Serial, so that the closures of a call do not overlap if the app's queue is concurrent.
        self.queue = DispatchQueue(label: "Networking.CallbackQueue", target: queue)
    }

    func run(_ body: @escaping @Sendable () -> Void) {
        queue.async { body() }
    }
}
