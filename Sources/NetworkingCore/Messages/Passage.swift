/// The values that a stack adds to a request while it sends it; `nil` for a request outside of a stack.
///
/// A new field is a parameter of the initializer, which has no defaults. So it does not compile before
/// ``shared(recordingInto:)`` and ``inBackground`` state its value. Every other copy either keeps the whole passage or
/// removes it.
@usableFromInline
struct Passage: Sendable {
    /// The work that parts further out do, so that those further in leave it out: a bit for each ``HandledWork``.
    var handled: UInt8
    /// The time limit of the exchange.
    @usableFromInline var limit: ExchangeLimit?
    /// The limiters with a permit for the request.
    var permits: HeldLimits?
    /// The recorder of the call; `nil` if the call is not measured.
    @usableFromInline var recorder: (any CallRecording)?
    /// The listeners that the modifiers have added.
    var observers: NetworkEventObservers
    /// The trace of the request's exchanges.
    var trace: (any RequestTrace)?
    /// The number that identifies the last exchange to listeners; 0 if the request has no listeners.
    var exchangeNumber: UInt32
    /// The credentials that parts of the stack have added.
    var credentials: StackCredentials?
    /// The options that modifiers have set for the parts upstream of them.
    @usableFromInline var options: TypedValues
}

/// Work that a part of the stack does for those further in.
package enum HandledWork: UInt8, CaseIterable {
    /// A modifier follows the redirects, so the transport does not need to.
    case redirects = 1
    /// A modifier ends an exchange that is silent for too long, so the transport does not need to.
    case silence = 2
    /// A modifier handles the Authorization field itself.
    case authorization = 4
    /// A modifier handles the cookies, so the transport does not use its own storage.
    case cookies = 8
}

extension Passage {
    /// The passage of a request to which no stack has added anything.
    static let none = Passage(
        handled: 0,
        limit: nil,
        permits: nil,
        recorder: nil,
        observers: NetworkEventObservers(),
        trace: nil,
        exchangeNumber: 0,
        credentials: nil,
        options: TypedValues()
    )

    /// Returns the passage of an exchange that several callers share and that may outlive the first of them.
    ///
    /// - Parameter recorder: A branch of the first caller's recorder.
    /// - Returns: The passage.
    func shared(recordingInto recorder: (any CallRecording)?) -> Passage {
        Passage(
            // The exchange must not end with its creator's timeout while other callers wait.
            handled: handled & ~HandledWork.silence.rawValue,
            limit: nil,
            permits: permits,
            recorder: recorder,
            observers: observers,
            trace: trace,
            exchangeNumber: exchangeNumber,
            credentials: credentials,
            options: options
        )
    }

    /// The passage of work in the background on behalf of a call: without its listeners, its permits and its limits.
    var inBackground: Passage {
        Passage(
            // A timeout further out has ended with the caller's exchange.
            handled: handled & ~HandledWork.silence.rawValue,
            limit: nil,
            permits: nil,
            recorder: nil,
            observers: NetworkEventObservers(),
            // The stack still traces the request.
            trace: trace,
            exchangeNumber: exchangeNumber,
            credentials: credentials,
            options: options
        )
    }
}

// MARK: - The passage of a request

extension HTTPRequestData {
    /// The passage, which is created when it is first changed.
    var openPassage: Passage {
        _read {
            if passage != nil {
                yield passage!.value
            } else {
                yield Passage.none
            }
        }
        _modify {
            if passage == nil {
                passage = CopyOnWrite(.none)
            }
            yield &passage!.value
        }
    }

    /// Removes all values that stacks have added, so that the request can be sent as a new one.
    ///
    /// The message stays as it was sent.
    mutating func leaveStack() {
        passage = nil
        place = .outside
    }

    /// Returns whether a part further out does some work.
    package func isHandled(_ work: HandledWork) -> Bool {
        (passage?.value.handled ?? 0) & work.rawValue != 0
    }

    /// Records that a part of the stack does some work, so that the parts upstream leave it out.
    package mutating func handle(_ work: HandledWork) {
        guard !isHandled(work) else { return }
        openPassage.handled |= work.rawValue
    }

    /// Whether a modifier of the stack sends and stores the cookies of the request, as `cookies(in:)` does.
    ///
    /// If it is `true`, a transport with its own cookie storage adds no cookie to the request and stores none of
    /// its response.
    public var areCookiesHandled: Bool {
        isHandled(.cookies)
    }

    /// Whether a modifier of the stack cancels an exchange that is silent for too long.
    ///
    /// If it is `true`, a transport does not need its own timeout. Otherwise a transport ends an exchange in which no
    /// byte moves in either direction for ``allowedSilence``, with a ``NetworkingError`` of kind
    /// ``NetworkingError/Kind/timeout``. The time in which the request's sink is busy does not count. `timeout(_:)` and
    /// `timeout(head:idle:)` set it for the transport below them.
    public var isSilenceLimited: Bool {
        isHandled(.silence)
    }

    /// The time limit of the exchange; `nil` if there is none, or if a part further out runs in a task that is
    /// cancelled at the limit.
    public package(set) var exchangeLimit: ExchangeLimit? {
        @inlinable get { passage?.value.limit }
        set {
            guard newValue != nil || passage?.value.limit != nil else { return }
            openPassage.limit = newValue
        }
    }

    /// Throws `CancellationError` if the current task is cancelled or the time limit of the request has passed.
    package func checkCancellation() throws {
        try Task.checkCancellation()
        try exchangeLimit?.check()
    }

    /// Throws if the request must not be sent any more after it has waited.
    ///
    /// A limiter of your own calls it when a request receives its permit. If it throws, the permit is free again.
    ///
    /// - Throws: `CancellationError` if the task is cancelled or the time limit of the request has passed. A
    ///   ``NetworkingError`` of kind ``NetworkingError/Kind/rejected`` if a limiter further out no longer admits the
    ///   request: a circuit has opened meanwhile.
    public func checkAfterWait() throws {
        try checkCancellation()
        try heldLimits?.confirmAll(self)
    }

    /// The limiters with a permit for the request.
    package var heldLimits: HeldLimits? {
        get { passage?.value.permits }
        set { openPassage.permits = newValue }
    }

    /// The number that identifies an exchange to listeners; 0 if the request has no listeners.
    package var exchangeNumber: UInt32 {
        passage?.value.exchangeNumber ?? 0
    }

    /// The recorder of the call; `nil` if the call is not measured.
    package var recorder: (any CallRecording)? {
        get { passage?.value.recorder }
        set {
            guard newValue != nil || passage?.value.recorder != nil else { return }
            openPassage.recorder = newValue
        }
    }

    /// Records that a part of the stack receives the request.
    ///
    /// - Returns: The number for ``leave(_:)``.
    @usableFromInline
    func enter(_ part: any Any.Type) -> Int32 {
        recorder?.enter(part) ?? -1
    }

    @usableFromInline
    func leave(_ number: Int32) {
        recorder?.leave(number)
    }
}
