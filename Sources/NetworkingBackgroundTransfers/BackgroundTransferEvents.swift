#if URLSession
import NetworkingCore
import NetworkingTransfers
import NetworkingURLSession
import Synchronization

/// A queue of unread events, with the handlers to call when all of them have been read.
///
/// No event between the start of the app and its first reader is lost. Progress can arrive hundreds of times a second,
/// so only the newest value of each transfer is kept.
final class BackgroundTransferEvents: Sendable {
    private let state = Mutex(State())

    /// The events for a reader; the next reader continues where this one stops.
    var stream: AsyncStream<BackgroundTransferEvent> {
        AsyncStream { [self] in await next() }
    }

    /// Adds an event.
    func send(_ event: BackgroundTransferEvent) {
        let readers = state.withLock { state in
            state.append(event)
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers {
            reader.resume()
        }
    }

    /// Adds a handler to call when the app has read every event that the system had to deliver.
    func whenDelivered(_ handler: @escaping @MainActor @Sendable () -> Void) {
        state.withLock { $0.handlers.append(handler) }
    }

    /// Returns the next event when there is one; `nil` if the reader is cancelled, which then takes no event.
    private func next() async -> BackgroundTransferEvent? {
        while !Task.isCancelled {
            let reader = Suspension<Void>()
            let (event, handlers) = state.withLock { $0.next(orWait: reader) }
            if !handlers.isEmpty {
                // A reader that requests this event has processed the earlier ones.
                await MainActor.run {
                    for handler in handlers {
                        handler()
                    }
                }
            }
            if let event { return event }
            try? await reader.value(until: nil) { [self] in state.withLock { $0.readers.removeAll { $0 === reader } } }
        }
        return nil
    }

    private enum Entry {
        case event(BackgroundTransferEvent)
        /// The queue position of a transfer's newest progress, which may be outdated.
        case progress(id: String, number: Int)
    }

    private struct State {
        private var entries: Queue<Entry> = []
        private var progress: [String: (number: Int, value: TransferProgress)] = [:]
        private var lastNumber = 0
        var readers: [Suspension<Void>] = []
        var handlers: [@MainActor @Sendable () -> Void] = []

        mutating func append(_ event: BackgroundTransferEvent) {
            switch event {
            case .progress(let id, let value):
                if let number = progress[id]?.number {
                    progress[id] = (number, value)
                } else {
                    lastNumber += 1
                    progress[id] = (lastNumber, value)
                    entries.append(.progress(id: id, number: lastNumber))
                }
            case .finished(let id, _, _), .failed(let id, _):
                // A later transfer may use the same id, and its progress must not be delivered before this event.
                progress[id] = nil
                entries.append(.event(event))
            case .unrecognized, .allDelivered:
                entries.append(.event(event))
            }
        }

        mutating func next(
            orWait reader: Suspension<Void>
        ) -> (BackgroundTransferEvent?, handlers: [@MainActor @Sendable () -> Void]) {
            while let entry = entries.popFirst() {
                switch entry {
                case .progress(let id, let number):
                    guard let newest = progress[id], newest.number == number else { continue }
                    progress[id] = nil
                    return (.progress(id: id, newest.value), [])
                case .event(.allDelivered):
                    defer { handlers = [] }
                    return (.allDelivered, handlers)
                case .event(let event):
                    return (event, [])
                }
            }
            readers.append(reader)
            return (nil, [])
        }
    }
}
#endif
