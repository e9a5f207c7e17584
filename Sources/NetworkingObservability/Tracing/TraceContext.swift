public import HTTPTypes
public import NetworkingCore

/// The trace that something is part of: what the fields `traceparent` and `tracestate` of a message say.
///
/// A server that handles a request has what it sends on the way be part of the same trace:
///
/// ```swift
/// let context = TraceContext(headerFields: incoming.headerFields)
/// let downstream = network.environment(\.traceContext, context)
/// ```
public struct TraceContext: Sendable, Hashable {
    /// Which trace, and which step of it.
    public var parent: TraceParent
    /// What those who record it tell each other.
    public var state: TraceState

    /// Creates a context.
    ///
    /// - Parameters:
    ///   - parent: Which trace, and which step of it.
    ///   - state: What those who record it tell each other.
    public init(parent: TraceParent, state: TraceState = TraceState()) {
        self.parent = parent
        self.state = state
    }

    /// Reads a message's header fields; nil when there is no valid `traceparent` in them, or more than one.
    ///
    /// A `tracestate` that is not valid is as good as none.
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
    /// The trace that the request says to be part of; nil when it says none, or nothing valid.
    ///
    /// Set it to have `traced` pass it on. It is in the header fields, so that a request as it went out
    /// (``HTTPResponseData/sentRequest``) tells what `traced` made.
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

    /// The id of that trace.
    public var traceID: TraceParent.TraceID? {
        traceContext?.parent.traceID
    }

    /// The id of its step.
    public var parentID: TraceParent.ParentID? {
        traceContext?.parent.parentID
    }

    /// Whether a trace that `traced` begins for this request is marked as one to record; nil leaves it to the stack.
    public var isTraceSampled: Bool? {
        get { self[option: IsTraceSampledOption.self] }
        set { self[option: IsTraceSampledOption.self] = newValue }
    }

    fileprivate enum IsTraceSampledOption: RequestOption {
        static let name = "isTraceSampled"
        static let defaultValue: Bool? = nil
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/isTraceSampled``.
    public static let isTraceSampled = RequestOptionKey(HTTPRequestData.IsTraceSampledOption.self)
}

extension NetworkEnvironment {
    /// The trace of calls whose requests name no trace, for `traced`; with `nil`, each call begins a trace of its own.
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
    // Valid names, so there are values.
    package static let traceParent = HTTPField.Name("traceparent")!
    package static let traceState = HTTPField.Name("tracestate")!
}
