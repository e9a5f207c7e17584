public import NetworkingCore

extension ServerTrust {
    /// Returns the pins and the identity that apply to the connection of a request.
    ///
    /// Expired pins do not apply, and ``TrustEvent/pinsExpired(host:)`` reports them.
    ///
    /// ```swift
    /// let trust = ServerTrust(pins: [HostPins("api.example.com", pins: [currentKey, backupKey])])
    /// let host = try trust.hostTrust(for: request)
    /// ```
    ///
    /// - Parameter request: The request, resolved.
    /// - Returns: The parts of the trust; `nil` if the host has neither pins nor an identity, or the request is sent
    ///   without TLS.
    /// - Throws: ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` if the host has enforced pins and
    ///   the request would be sent without TLS, or if the host is not ASCII. The transport would connect to the ASCII
    ///   form of such a host, for which other pins may apply.
    public func hostTrust(for request: HTTPRequestData) throws -> HostTrust? {
        guard !pins.isEmpty || !clientIdentities.isEmpty, let authority = request.authority else { return nil }
        let host = HostPattern.normalized(PercentEncoding.decode(Authority(authority).host))
        guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The host is not ASCII, so its pins are not known. Write it in its ASCII form (xn--…)."
            )
        }
        let pins = try currentPins(of: host, for: request)
        guard request.scheme == "https" else { return nil }
        let identityIndex = identityIndex(for: host)
        guard pins != nil || identityIndex != nil else { return nil }
        return HostTrust(host: host, pins: pins, identityIndex: identityIndex)
    }

    /// Returns the pins of a host unless they have expired.
    private func currentPins(of host: String, for request: HTTPRequestData) throws -> HostPins? {
        guard let pins = pins(for: host) else { return nil }
        if pins.areExpired(at: NetworkEnvironment.current.clock.date) {
            request.emit(TrustEvent.pinsExpired(host: host))
            return nil
        }
        guard request.scheme == "https" || pins.mode == .reportOnly else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "\(host) has pins, but the request would be sent without TLS. Use https."
            )
        }
        return pins
    }
}
