package import NetworkingCore

extension ServerTrust {
    /// Returns the pins that a request's connection has to match.
    ///
    /// Reports pins that have expired.
    ///
    /// - Parameter request: The request.
    /// - Returns: The pins; `nil` if none apply.
    /// - Throws: ``NetworkingError`` if the host has enforced pins and the request would be sent without TLS, or if the
    ///   host is not ASCII, because the transport would then connect to the host of another name.
    package func applicablePins(for request: HTTPRequestData) throws -> HostPins? {
        guard let host = request.trustHost else { return nil }
        guard pins.isEmpty && clientIdentities.isEmpty || host.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The host is not ASCII, so its pins are not known. Write it in its ASCII form (xn--…)."
            )
        }
        guard let pins = pins(for: host) else { return nil }
        if pins.areExpired(at: NetworkEnvironment.current.clock.date) {
            request.emit(TrustEvent.pinsExpired(host: host))
            return nil
        }
        guard request.scheme == "https" else {
            guard pins.mode == .enforced else { return nil }
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "\(host) has pins, but the request would be sent without TLS. Use https."
            )
        }
        return pins
    }
}

extension HTTPRequestData {
    /// The host of the connection, in lower case and decoded, as pins and identities name it.
    package var trustHost: String? {
        guard let authority else { return nil }
        return HostPattern.normalized(PercentEncoding.decode(Authority(authority).host))
    }
}
