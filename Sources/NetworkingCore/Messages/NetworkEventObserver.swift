public import HTTPTypes

/// A listener to the events of requests, in a stack or of one request.
///
/// ```swift
/// struct Printer: NetworkEventObserver {
///     func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
///         switch event {
///         case ExchangeEvent.headReceived(let head): print(request.id, head.status)
///         case RedirectEvent.redirected(let next): print(request.id, "continues at", next)
///         default: break
///         }
///     }
/// }
///
/// request.addObserver(Printer())
/// ```
public protocol NetworkEventObserver: Sendable {
    /// The request options that the listener reads; the default is none.
    ///
    /// `NetworkingComponent.diagnostics(for:)` reports the options of a request that nothing reads.
    var requestOptions: Set<RequestOptionKey> { get }

    /// Whether the listener needs events; the default is `true`.
    ///
    /// Events cost time: a transport reports each step of an exchange, and reads a short body in parts. Return `false`
    /// in a listener that only names header fields. It may still receive the events that another listener needs. It is
    /// asked once, when the listener is added to a request.
    var observesEvents: Bool { get }

    /// Receives an event, on the thread where it happens.
    ///
    /// Keep it short, because the request waits for it. Ignore the events that you do not know: other packages report
    /// their own.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - request: The request of the event, as it is at that place in the stack.
    func observe(_ event: any NetworkEvent, of request: HTTPRequestData)

    /// Returns header fields for one exchange of a transport, just before it starts, such as those of a trace.
    ///
    /// They replace fields of the same names, also those of listeners further out. If several requests share an
    /// exchange, only the listeners of one of them provide fields. The default returns none.
    ///
    /// - Parameter request: The request as it goes out.
    /// - Returns: The fields.
    func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields
}

extension NetworkEventObserver {
    /// No option.
    public var requestOptions: Set<RequestOptionKey> {
        []
    }

    /// The listener needs events.
    public var observesEvents: Bool {
        true
    }

    /// Returns no fields.
    public func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
        [:]
    }
}

/// The listeners of a request, in the order in which they were added.
struct NetworkEventObservers: Sendable {
    private(set) var all: [any NetworkEventObserver] = []
    /// Whether one of them needs events.
    fileprivate private(set) var observeEvents = false

    mutating func append(_ observer: some NetworkEventObserver) {
        all.append(observer)
        observeEvents = observeEvents || observer.observesEvents
    }
}

extension HTTPRequestData {
    /// Adds a listener, which receives the events of this request from here on, towards the transport.
    ///
    /// A listener that a modifier adds receives the events of that send alone: the request of a response no longer has
    /// it.
    ///
    /// - Parameter observer: The listener.
    public mutating func addObserver(_ observer: some NetworkEventObserver) {
        if isUnderway {
            openPassage.observers.append(observer)
        } else {
            settings.observers.append(observer)
        }
    }

    /// Replaces all listeners of the request, its caller's and those of its stack.
    package mutating func replaceObservers(with observer: some NetworkEventObserver) {
        settings.observers = NetworkEventObservers()
        settings.observers.append(observer)
        openPassage.observers = NetworkEventObservers()
    }

    /// Whether a modifier has added a listener of a type.
    package func hasStackObserver<Observer: NetworkEventObserver>(_ type: Observer.Type) -> Bool {
        passage?.value.observers.all.contains { $0 is Observer } ?? false
    }

    /// Whether the request has observers, which may need no events.
    var hasObservers: Bool {
        box?.value.observers.all.isEmpty == false || passage?.value.observers.all.isEmpty == false
    }

    /// Whether the request has observers that need events, in addition to its recorder.
    package var isObserved: Bool {
        box?.value.observers.observeEvents == true || passage?.value.observers.observeEvents == true
    }

    /// Whether the request has observers that need events, or a recorder.
    package var hasListeners: Bool {
        recorder != nil || isObserved
    }

    /// Reports an event to the listeners; for modifiers and transports.
    ///
    /// - Parameter event: The event, of the library or of your own. It is created only if the request has listeners
    ///   that need events.
    public func emit(_ event: @autoclosure () -> any NetworkEvent) {
        guard hasListeners else { return }
        let event = event()
        recorder?.record(event)
        notifyObservers(of: event)
    }

    /// Reports an event to the observers.
    // Not inlined, because its caller would then copy all options before it asks whether there are observers.
    @inline(never)
    package func notifyObservers(of event: any NetworkEvent) {
        guard hasObservers else { return }
        let request = besideStack
        for observer in box?.value.observers.all ?? [] {
            observer.observe(event, of: request)
        }
        for observer in passage?.value.observers.all ?? [] {
            observer.observe(event, of: request)
        }
    }

    private static let exchangeNumbers = ExchangeNumbers()

    /// Sets the header fields that the listeners name for one exchange, and the number of the exchange.
    mutating func beginExchange() {
        guard hasObservers else { return }
        openPassage.exchangeNumber = Self.exchangeNumbers.next()
        let fields = attemptFields
        guard !fields.isEmpty else { return }
        // They are removed before the request is sent again, because no part of the stack has set them.
        content.value.attemptFields = fields
        for field in fields {
            headerFields[field.name] = nil
        }
        for field in fields {
            headerFields.append(field)
        }
    }

    /// Removes the header fields that listeners named for the last exchange, except fields that have been changed
    /// since.
    mutating func removeAttemptFields() {
        let fields = content.value.attemptFields
        guard !fields.isEmpty else { return }
        content.value.attemptFields = [:]
        for name in Set(fields.map(\.name)) where headerFields.httpFields[values: name] == fields[values: name] {
            headerFields[name] = nil
        }
    }

    /// The header fields that the listeners name for one exchange.
    package var attemptFields: HTTPFields {
        var fields = HTTPFields()
        let request = besideStack
        for observer in settings.observers.all + openPassage.observers.all {
            let named = observer.headerFields(forAttempt: request)
            // A field with two values where one is allowed would be invalid.
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
