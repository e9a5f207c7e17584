#if Crypto
public import FoundationForNetworking
import HTTPTypes
import NetworkingAuthentication
import NetworkingCore

/// A code that the user types on another device to sign in on this one (RFC 8628 section 3.2).
public struct OAuthDeviceCode: Sendable {
    /// The code that the user types.
    public let userCode: String
    /// The page on which the user types the code.
    public let verificationURL: URL
    /// The URL of the page with the code included, for a QR code or a link; `nil` if the provider has none.
    public let completeURL: URL?
    /// The date at which the code expires.
    public let expirationDate: Date
    let deviceCode: String
    let interval: Duration
    let lifetime: Duration
}

extension OAuthDeviceCode: CustomStringConvertible, CustomReflectable {
    /// An instruction for the user.
    public var description: String {
        "Open \(verificationURL) and enter \(userCode)"
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["userCode": userCode, "verificationURL": verificationURL])
    }
}

/// Signs a user in with the help of another device (RFC 8628).
struct DeviceFlow {
    let system: OAuthSystem
    let server: OAuthServer
    let network: AnyNetworkingComponent
    let proofs: DPoPProofs
    /// The key that the tokens are bound to; `nil` for bearer tokens.
    let key: DPoPKey?

    func session(showing show: @Sendable (OAuthDeviceCode) async throws -> Void) async throws -> Session {
        let code = try await code()
        try await show(code)
        return try await poll(with: code)
    }

    private func code() async throws -> OAuthDeviceCode {
        guard let url = server.deviceAuthorizationEndpoint else {
            throw OAuthError(
                .misconfigured,
                "The provider has no device authorization endpoint. Set its deviceAuthorizationEndpoint, or use "
                    + "another grant."
            )
        }
        var fields = system.furtherFields(besides: [])
        if !system.scopes.isEmpty {
            fields.append(URLQueryItem(name: "scope", value: system.scopes.joined(separator: " ")))
        }
        let now = NetworkEnvironment.current.clock.date
        let endpoint = TokenEndpoint(
            system: system,
            url: url,
            network: network,
            purpose: .deviceCode,
            proofs: proofs
        )
        let response = try await endpoint.response(to: fields)
        guard !response.status.isOutage else { throw NetworkingError.refusedStatus(of: response) }
        let content = try? JSONDecoder().decode(LenientFields.self, from: response.data)
        // Google calls the page `verification_url`.
        guard response.status.kind == .successful, let content,
            let page = Self.page(content["verification_uri"] ?? content["verification_url"], namedBy: url),
            let userCode = content["user_code"], let deviceCode = content["device_code"]
        else {
            let refusal = ProviderError(
                code: content?["error"],
                explanation: content?["error_description"],
                redacting: [system.authentication.secret].compactMap(\.self)
            )
            throw OAuthError(
                content?["error"] == nil ? .invalidResponse : .tokenRefused,
                code: refusal.code,
                statusCode: response.status.code,
                "The provider issued no device code\(refusal.text), with status \(response.status.code). Check the "
                    + "grants that the app is registered for."
            )
        }
        // Section 3.2: both are in seconds, and the interval is optional.
        let seconds = { (value: Double?, standard: Double) in
            value.flatMap { $0 > 0 && $0 < 1e7 ? $0 : nil } ?? standard
        }
        let lifetime = seconds(content.seconds("expires_in"), 900)
        return OAuthDeviceCode(
            userCode: PrintableText.cut(PrintableText.singleLine(userCode), to: 64),
            verificationURL: page,
            completeURL: Self.page(content["verification_uri_complete"], namedBy: url),
            expirationDate: now.addingTimeInterval(lifetime),
            deviceCode: deviceCode,
            interval: .seconds(seconds(content.seconds("interval"), 5)),
            lifetime: .seconds(lifetime)
        )
    }

    /// Returns the URL of a page that the user is to open; `nil` if it is not safe to show.
    ///
    /// A URL with another scheme may start a program, and a URL on this machine does not belong to the provider.
    private static func page(_ text: String?, namedBy endpoint: URL) -> URL? {
        guard let page = text.flatMap({ URL(string: $0) }), page.isProtected, !page.isOutOfReach(of: endpoint) else {
            return nil
        }
        return page
    }

    /// Polls until the user has finished, at the interval that the provider allows (section 3.5).
    private func poll(with code: OAuthDeviceCode) async throws -> Session {
        let clock = NetworkEnvironment.current.clock
        let endpoint = TokenEndpoint(
            system: system,
            url: server.tokenEndpoint,
            network: network,
            purpose: .token,
            proofs: proofs,
            key: key
        )
        // The provider's interval, and the wait before the next poll, which is longer after a failure.
        var interval = code.interval
        var wait = interval
        var failures = 0
        var random = NetworkEnvironment.current.random
        // Uses the monotonic clock, because the user may change the date meanwhile.
        let end = clock.now + code.lifetime
        while true {
            guard clock.now + wait < end else { throw Self.expired }
            try await clock.sleep(for: wait)
            do {
                let fields = [URLQueryItem(name: "device_code", value: code.deviceCode)]
                return try await endpoint.tokens(for: "urn:ietf:params:oauth:grant-type:device_code", fields)
                    .session(asking: system.scopes)
            } catch let error as OAuthError where error.kind == .tokenRefused {
                switch error.code {
                case "authorization_pending": break
                case "slow_down": interval += .seconds(5)
                case "access_denied":
                    throw OAuthError(
                        .denied,
                        code: error.code,
                        "The user did not agree to sign in on the other device."
                    )
                case "expired_token": throw Self.expired
                default: throw error
                }
                (wait, failures) = (interval, 0)
            } catch let error as NetworkingError where error.isTransient || error.isTimeout {
                // Polls less often while the provider cannot be reached, but often enough to succeed soon after.
                failures += 1
                let cap = max(interval, Self.maximumBackoff)
                let backoff = Backoff.exponential(base: interval, cap: cap, jitter: .none)
                wait = backoff.delay(beforeRetry: failures + 1, using: &random)
            }
        }
    }

    /// The longest wait after a failure, unless the provider's interval is longer.
    private static let maximumBackoff = Duration.seconds(60)

    private static var expired: OAuthError {
        OAuthError(.expired, code: "expired_token", "The device code has expired. Sign in again.")
    }
}
#endif
