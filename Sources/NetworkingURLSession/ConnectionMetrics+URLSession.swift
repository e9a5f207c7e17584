#if URLSession
import Foundation
import NetworkingCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension ConnectionMetrics {
    /// Creates the metrics that URLSession has measured, which are empty on Linux.
    init(_ metrics: URLSessionTaskTransactionMetrics) {
        self.init()
        protocolVersion = metrics.networkProtocolName.flatMap { name in
            switch name {
            case "http/1.0": "1.0"
            case "http/1.1": "1.1"
            case "h2": "2"
            case "h3": "3"
            default: nil
            }
        }
        isReused = metrics.isReusedConnection
        peerAddress = metrics.remoteAddress
        // A number on Apple's platforms, text elsewhere.
        peerPort = metrics.remotePort.flatMap { Int("\($0)") }
        nameResolution = Self.duration(from: metrics.domainLookupStartDate, to: metrics.domainLookupEndDate)
        connecting = Self.duration(from: metrics.connectStartDate, to: metrics.connectEndDate)
        securing = Self.duration(from: metrics.secureConnectionStartDate, to: metrics.secureConnectionEndDate)
        bytesSent = metrics.countOfRequestHeaderBytesSent + metrics.countOfRequestBodyBytesSent
        bytesReceived = metrics.countOfResponseHeaderBytesReceived + metrics.countOfResponseBodyBytesReceived
    }

    private static func duration(from start: Date?, to end: Date?) -> Duration? {
        guard let start, let end else { return nil }
        return .seconds(max(0, end.timeIntervalSince(start)))
    }
}
#endif
