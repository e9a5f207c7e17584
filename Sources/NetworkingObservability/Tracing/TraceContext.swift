public import HTTPTypes
public import NetworkingCore

/// The trace that a message belongs to, from its fields `traceparent` and `tracestate`.
///
/// A server that handles a request can add the requests that it sends itself to the same trace:
///
/// ```swift
/// let context = TraceContext(headerFields: incoming.headerFields)
/// let downstream = network.environment(\.traceContext, context)
/// ```
public struct TraceContext: Sendable, Hashable {
    /// The trace, and the step within it.
    public var parent: TraceParent
    /// The data of the tracing systems.
    public var state: TraceState

    /// Creates a context.
    ///
    /// - Parameters:
    ///   - parent: The trace, and the step within it.
    ///   - state: The data of the tracing systems.
    public init(parent: TraceParent, state: TraceState = TraceState()) {
        self.parent = parent
        self.state = state
    }

    /// Reads a message's header fields; `nil` if they do not contain exactly one valid `traceparent`.
    ///
    /// An invalid `tracestate` is ignored.
    ///
    /// - Parameter headerFields: The fields.
    public init?(headerFields: HTTPFields) {
        let values = headerFields[values: .traceParent]
        guard values.count == 1, let parent = TraceParent(values[0]) else { return nil }
        self.init(parent: parent, state: TraceState(fields: headerFields[values: .traceState]) ?? TraceState())
    }

    /// The context as header fields.
    public var headerFields: HTTPFields {
        var fields: HTTPFields = [.traceParent: parent.description]
        if !state.members.isEmpty {
            fields[.traceState] = state.description
        }
        return fields
    }
}

extension HTTPRequestData {
    /// The trace that the request declares in its header fields; `nil` if there is none or it is invalid.
    ///
    /// If it is set, `traced` propagates it. The request as it was sent (``HTTPResponseData/sentRequest``) has the
    /// trace that `traced` created.
    public var traceContext: TraceContext? {
        get { TraceContext(headerFields: headerFields.httpFields) }
        set {
            headerFields[.traceParent] = nil
            headerFields[.traceState] = nil
            for field in newValue?.headerFields ?? [:] {
                headerFields.append(field)
            }
        }
    }

    /// The id of the request's trace; `nil` if the request declares none.
    public var traceID: TraceParent.TraceID? {
        traceContext?.parent.traceID
    }

    /// The id of the request's step in the trace; `nil` if the request declares none.
    public var parentID: TraceParent.ParentID? {
        traceContext?.parent.parentID
    }

    /// Whether a trace that `traced` starts for this request is marked for recording; `nil` leaves it to the stack.
    public var isTraceSampled: Bool? {
        get { self[.isTraceSampled] }
        set { self[.isTraceSampled] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/isTraceSampled``.
    public static let isTraceSampled = RequestOption<Bool?>("isTraceSampled", default: nil, affects: .nothing)
}

extension NetworkEnvironment {
    /// The trace that `traced` continues for requests without their own; with `nil`, each call starts a new trace.
    ///
    /// A server that handles a request sets it from the header fields of that request
    /// (``TraceContext/init(headerFields:)``).
    public var traceContext: TraceContext? {
        get { self[TraceContextKey.self] }
        set { self[TraceContextKey.self] = newValue }
    }

    private enum TraceContextKey: NetworkEnvironmentKey {
        static let defaultValue: TraceContext? = nil
        static let isOfOneCall = true
    }
}

extension HTTPField.Name {
    // The names are valid, so the initializers return values.
    package static let traceParent = HTTPField.Name("traceparent")!
    static let traceState = HTTPField.Name("tracestate")!
}
