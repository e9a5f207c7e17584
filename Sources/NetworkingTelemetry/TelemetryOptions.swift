#if Telemetry
public import HTTPTypes
public import Networking

/// What `telemetry` records besides what it always does.
///
/// ```swift
/// var options = TelemetryOptions()
/// options.responseHeaderFields = [.contentType]
/// options.recordsBodySizes = true
/// let network = URLSession.shared.retry().telemetry(options: options)
/// ```
public struct TelemetryOptions: Sendable {
    /// The header fields of requests that become attributes of their spans, as `http.request.header.<name>`; none by
    /// default.
    ///
    /// Those that ``redaction`` hides never do.
    public var requestHeaderFields: [HTTPField.Name] = []

    /// The header fields of responses that become attributes of their spans, as `http.response.header.<name>`; none by
    /// default.
    ///
    /// Those that ``redaction`` hides never do.
    public var responseHeaderFields: [HTTPField.Name] = []

    /// Whether the User-Agent becomes an attribute; no by default.
    public var recordsUserAgent = false

    /// Whether the lengths of bodies become attributes and metrics; no by default.
    public var recordsBodySizes = false

    /// Whether the number of exchanges under way is a metric; no by default.
    public var recordsActiveRequests = false

    /// The methods that have their name in spans and metrics; all others are `_OTHER`, so that their number is bounded.
    ///
    /// By default those of RFC 9110, and PATCH.
    public var knownMethods: Set<HTTPRequest.Method> = [
        .connect, .delete, .get, .head, .options, .patch, .post, .put, .trace,
    ]

    /// What must not be read in a URL or a header field.
    public var redaction = Redaction.standard

    /// The most combinations of dimensions that one metric has; what comes after them is recorded together, with the
    /// one dimension `otel.metric.overflow`.
    public var maximumSeries = 2_000

    /// Creates the default options.
    public init() {}
}
#endif
