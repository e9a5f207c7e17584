public import HTTPTypes
import Synchronization

/// What listens to the events of the requests that pass a point of a stack.
///
/// ```swift
/// struct Printer: NetworkEventObserver {
///     func observe(_ event: NetworkEvent, of request: HTTPRequestData) {
///         print(request.id, event)
///     }
/// }
///
/// request.addObserver(Printer())
/// ```
public protocol NetworkEventObserver: RequestOptionReader, Sendable {
    /// Hears of an event, on whatever thread it happens. Keep it short: the request waits for it.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - request: The request that it happened to, as it was there.
    func observe(_ event: NetworkEvent, of request: HTTPRequestData)

    /// Names header fields for one exchange of a transport, just before it begins: those of tracing, which differ from attempt
    /// to attempt.
    ///
    /// They replace fields of the same names, also those of listeners further out. The exchange of several requests that share one asks one of them. The default has none.
    ///
    /// - Parameter request: The request as it goes out.
    /// - Returns: The fields.
    func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields
}

extension NetworkEventObserver {
    /// Names none.
    public func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
        [:]
    }
}

extension HTTPRequestData {
    /// Adds a listener to what happens to this request from here on, towards the transport.
    ///
    /// One that a modifier adds hears of that send alone: the request of a response no longer has it.
    ///
    /// - Parameter observer: The listener.
    public mutating func addObserver(_ observer: some NetworkEventObserver) {
        if isUnderway {
            settings.stackObservers.append(observer)
        } else {
            settings.observers.append(observer)
        }
    }

    /// Whether somebody has asked to be told; a recorder has not, and is.
    package var isObserved: Bool {
        guard let box else { return false }
        return !box.value.observers.isEmpty || !box.value.stackObservers.isEmpty
    }

    /// Whether anybody listens.
    package var hasListeners: Bool {
        recorder != nil || isObserved
    }

    /// Tells the listeners what happened; for modifiers and transports.
    ///
    /// - Parameter event: What happened. It is only made when somebody listens.
    public func emit(_ event: @autoclosure () -> NetworkEvent) {
        guard hasListeners else { return }
        let event = event()
        recorder?.record(event)
        notifyObservers(of: event)
    }

    /// Tells those who have asked to be told.
    package func notifyObservers(of event: NetworkEvent) {
        guard isObserved else { return }
        for observer in settings.observers + settings.stackObservers {
            observer.observe(event, of: self)
        }
    }

    private static let lastExchange = Atomic<UInt32>(0)

    /// Gives the request what its listeners want one exchange of it to have, and a number that tells it from others.
    mutating func beginExchange() {
        guard isObserved else { return }
        exchangeNumber = Self.lastExchange.add(1, ordering: .relaxed).newValue
        let fields = attemptFields
        guard !fields.isEmpty else { return }
        // Whoever sends it again has not written them.
        settings.attemptFields = fields
        for field in fields {
            headerFields[field.name] = nil
        }
        for field in fields {
            headerFields.append(field)
        }
    }

    /// Takes off what listeners named for the exchange with which it went out before, unless somebody has written something else since.
    mutating func removeAttemptFields() {
        guard let fields = box?.value.attemptFields, !fields.isEmpty else { return }
        settings.attemptFields = [:]
        for name in Set(fields.map(\.name)) where headerFields.httpFields[values: name] == fields[values: name] {
            headerFields[name] = nil
        }
    }

    /// The header fields that its listeners want one exchange of it to have.
    package var attemptFields: HTTPFields {
        var fields = HTTPFields()
        for observer in settings.observers + settings.stackObservers {
            let named = observer.headerFields(forAttempt: self)
            // Two values of a field that one must name once would be no value at all.
            for field in named {
                fields[field.name] = nil
            }
            for field in named {
                fields.append(field)
            }
        }
        return fields
    }
}
