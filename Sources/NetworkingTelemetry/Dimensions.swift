#if Telemetry
/// What distinguishes the series of a metric: a request and its outcome, or one other value.
///
/// It is compared whenever a value is recorded. The names and values are created only for a new series.
struct Dimensions: Hashable, Sendable {
    /// The part that describes the request.
    ///
    /// The path is left out, because it contains IDs.
    struct Request: Hashable, Sendable {
        /// The method, or `_OTHER`; `nil` if the metric distinguishes only the servers.
        var method: String?
        let address: String
        let port: Int
        var template: String?

        /// The server alone.
        var server: Request {
            Request(address: address, port: port)
        }
    }

    var request: Request?
    var status: Int?
    var errorType: String?
    var protocolVersion: String?
    /// The name of the value that only one metric has.
    private var name: String?
    private var value: String?

    /// Creates the dimensions of a request, with its outcome.
    init(_ request: Request? = nil, status: Int? = nil, errorType: String? = nil) {
        self.request = request
        self.status = status
        self.errorType = errorType
    }

    /// Creates the dimensions of a metric with a single value.
    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The names and values, as a backend receives them.
    var labels: [(String, String)] {
        let labels = [
            ("http.request.method", request?.method), ("server.address", request?.address),
            ("server.port", request.map { "\($0.port)" }), ("url.template", request?.template),
            ("http.response.status_code", status.map { "\($0)" }), ("error.type", errorType),
            ("network.protocol.version", protocolVersion), (name ?? "", value),
        ]
        return labels.compactMap { name, value in value.map { (name, $0) } }
    }
}
#endif
