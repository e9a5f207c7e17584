#if URLSession
import DequeModule
import NetworkingCore
import NetworkingTransfers
import NetworkingURLSession
import Synchronization

/// What has happened and was not read yet, and who is to hear that everything was.
///
/// Nothing gets lost between the start of the app and its first reader. Of progress, which may come hundreds of times a
/// second, only the newest of each transfer waits.
final class BackgroundTransferEvents: Sendable {
    private let state = Mutex(State())

    /// Brings the events to a reader; the next one goes on where this one stops.
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

    /// Keeps what is to be called when all that the system has to tell was read.
    func whenDelivered(_ handler: @escaping @MainActor @Sendable () -> Void) {
        state.withLock { $0.handlers.append(handler) }
    }

    /// The next event, once there is one; nil when the reader is cancelled, who then takes none.
    private func next() async -> BackgroundTransferEvent? {
        while !Task.isCancelled {
            let reader = Suspension<Void>()
            let (event, handlers) = state.withLock { $0.next(orWait: reader) }
            if !handlers.isEmpty {
                // Who asks for this event has dealt with those before it.
                await MainActor.run {
                    for handler in handlers {
                        handler()
                    }
                }
            }
            if let event { return event }
            try? await reader.value { [self] in state.withLock { $0.readers.removeAll { $0 === reader } } }
        }
        return nil
    }

    private enum Entry {
        case event(BackgroundTransferEvent)
        /// The place of a transfer's newest progress, which may be outdated.
        case progress(id: String, number: Int)
    }

    private struct State {
        private var entries: Deque<Entry> = []
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
                // Another transfer may be given the id, and its progress must not come before this.
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
