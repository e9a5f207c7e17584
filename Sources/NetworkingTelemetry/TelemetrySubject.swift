#if Telemetry
import HTTPTypes
import NetworkingCore
import Tracing

/// The attributes of a request in spans and metrics, independent of its outcome.
struct TelemetrySubject: Sendable {
    /// The dimensions of the request's metrics.
    let dimensions: Dimensions.Request
    /// The method, or `_OTHER`.
    private let method: String
    /// The method if it is not a known one.
    private let originalMethod: String?
    private let acceptedStatuses: StatusSet
    /// The redaction, including the values that the request marks as secret.
    let redaction: Redaction

    init(_ request: HTTPRequestData, _ options: TelemetryOptions) {
        let isKnown = options.knownMethods.contains(request.method)
        method = isKnown ? request.method.rawValue : "_OTHER"
        originalMethod = isKnown ? nil : request.method.rawValue
        redaction = options.redaction.redactingSecrets(of: request)
        let server = request.server
        dimensions = Dimensions.Request(
            method: method,
            address: redaction.shown(server.address),
            port: server.port,
            template: request.route
        )
        acceptedStatuses = request.acceptedStatuses
    }

    /// The name of the span, without the path: paths contain IDs, so each would become a separate operation.
    var spanName: String {
        let method = originalMethod == nil ? self.method : "HTTP"
        return dimensions.template.map { "\(method) \($0)" } ?? method
    }

    /// Returns the attributes of the request's span at its start.
    func attributes(of request: HTTPRequestData, _ options: TelemetryOptions) -> SpanAttributes {
        var attributes = SpanAttributes([
            "http.request.method": .string(method),
            "server.address": .string(dimensions.address),
            "server.port": .int64(Int64(dimensions.port)),
            "url.full": .string(request.telemetryURL(redactedBy: options.redaction)),
        ])
        attributes["http.request.method_original"] = originalMethod
        attributes["url.template"] = dimensions.template
        return attributes
    }

    /// Returns the `error.type` of a status code, if it is an error.
    ///
    /// A status that the request accepts is not an error, because the app expects it.
    func errorType(of status: Int) -> String? {
        status >= 400 && !acceptedStatuses.contains(HTTPResponse.Status(code: status)) ? "\(status)" : nil
    }
}

extension HTTPFields {
    /// Adds the values of the fields that may be shown as attributes with a prefix.
    func capture(
        _ names: [HTTPField.Name],
        as prefix: String,
        _ redaction: Redaction,
        into attributes: inout SpanAttributes
    ) {
        for name in names {
            let fields = self[fields: name]
            guard !fields.isEmpty, !fields.contains(where: { redaction.redacts($0) }) else { continue }
            attributes["\(prefix).\(name.canonicalName)"] = fields.map { redaction.shownValue(of: $0) }
        }
    }
}
#endif
