#if Telemetry
public import HTTPTypes
public import NetworkingCore

/// Additional data that `telemetry` records.
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
    /// Fields that ``redaction`` redacts are never recorded.
    public var requestHeaderFields: [HTTPField.Name] = []

    /// The header fields of responses that become attributes of their spans, as `http.response.header.<name>`; none by
    /// default.
    ///
    /// Fields that ``redaction`` redacts are never recorded.
    public var responseHeaderFields: [HTTPField.Name] = []

    /// Whether the User-Agent becomes an attribute; `false` by default.
    public var recordsUserAgent = false

    /// Whether the lengths of bodies become attributes and metrics; `false` by default.
    public var recordsBodySizes = false

    /// Whether the number of exchanges in flight is a metric; `false` by default.
    public var recordsActiveRequests = false

    /// The methods that spans and metrics name; all others are recorded as `_OTHER`, so that their number is bounded.
    ///
    /// The default is the methods of RFC 9110, PATCH and QUERY.
    public var knownMethods: Set<HTTPRequest.Method> = [
        .connect, .delete, .get, .head, .options, .patch, .post, .put, .query, .trace,
    ]

    /// The redaction of URLs and header fields.
    public var redaction = Redaction.standard

    /// The maximum number of combinations of dimensions for each metric.
    ///
    /// Values of further combinations are recorded together, with the single dimension `otel.metric.overflow`.
    public var maximumSeries = 2_000

    /// Creates the default options.
    public init() {}
}
#endif
