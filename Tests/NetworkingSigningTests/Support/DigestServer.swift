#if Crypto
import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import Networking
import Synchronization

/// A server that requires Digest authentication.
///
/// It is written independently of the signer, and the test sets its values.
final class DigestServer: Sendable {
    struct Settings: Sendable {
        var algorithm: String? = "SHA-256"
        var quality: String? = "auth, auth-int"
        var realm = "cameras"
        var more = ""
        var password = "secret-1"
        var nonces = ["nonce-1", "nonce-2", "nonce-3", "nonce-4", "nonce-5"]
        /// The number of times that a nonce can be used before it is stale.
        var uses = Int.max
        /// Whether the challenge for an expired nonce contains `stale=true`.
        var reportsStale = true
        /// The Authentication-Info field.
        ///
        /// `{proof}`, `{nc}` and `{cnonce}` are replaced by the correct values.
        var info: String?
        var body = "hello"
    }

    private struct State {
        var settings: Settings
        var nonce: String
        var used: [String: [UInt32]] = [:]
    }

    private let state: Mutex<State>

    init(_ change: (inout Settings) -> Void = { _ in }) {
        var settings = Settings()
        change(&settings)
        let nonce = settings.nonces.removeFirst()
        state = Mutex(State(settings: settings, nonce: nonce))
    }

    func change(_ change: (inout Settings) -> Void) {
        state.withLock { change(&$0.settings) }
    }

    /// The counts received for each nonce.
    var counts: [String: [UInt32]] {
        state.withLock { $0.used }
    }

    var transport: MockTransport {
        MockTransport { self.response(to: $0) }
    }

    func response(to request: HTTPRequestData) -> MockResponse {
        state.withLock { state in
            guard let field = request.headerFields[.authorization], field.hasPrefix("Digest ") else {
                return Self.challenge(&state, isStale: false)
            }
            let given = Self.parameters(in: field)
            let settings = state.settings
            guard
                let proof = Self.proof(for: given, settings, method: request.method.rawValue, body: request.body?.data),
                given["response"] == proof, given["uri"] == request.closedTarget
            else { return Self.challenge(&state, isStale: false) }
            let nonce = given["nonce"] ?? ""
            state.used[nonce, default: []].append(UInt32(given["nc"] ?? "0", radix: 16) ?? 0)
            if nonce != state.nonce || state.used[nonce]!.count > settings.uses {
                return Self.challenge(&state, isStale: settings.reportsStale)
            }
            var fields: HTTPFields = [:]
            if let info = settings.info {
                let good = Self.proof(for: given, settings, method: "", body: Data(settings.body.utf8)) ?? ""
                fields[HTTPField.Name("Authentication-Info")!] = info.replacingOccurrences(of: "{proof}", with: good)
                    .replacingOccurrences(of: "{nc}", with: given["nc"] ?? "")
                    .replacingOccurrences(of: "{cnonce}", with: given["cnonce"] ?? "")
                if let next = info.firstMatch(of: /nextnonce="([^"]*)"/) { state.nonce = String(next.1) }
            }
            return .ok(Data(settings.body.utf8), headerFields: fields)
        }
    }

    private static func challenge(_ state: inout State, isStale: Bool) -> MockResponse {
        let settings = state.settings
        if !state.used.isEmpty, !settings.nonces.isEmpty {
            state.nonce = state.settings.nonces.removeFirst()
        }
        var field = "Digest realm=\"\(settings.realm)\", nonce=\"\(state.nonce)\""
        if let quality = settings.quality { field += ", qop=\"\(quality)\"" }
        if let algorithm = settings.algorithm { field += ", algorithm=\(algorithm)" }
        if isStale { field += ", stale=TRUE" }
        return .status(.unauthorized, headerFields: [.wwwAuthenticate: field + settings.more])
    }

    private static func parameters(in field: String) -> [String: String] {
        var parameters: [String: String] = [:]
        for match in field.dropFirst(7).matches(of: /([a-z*]+)=(?:"((?:[^"\\]|\\.)*)"|([^,]*))/) {
            let quoted = match.2.map { String($0).replacing(/\\(.)/) { String($0.1) } }
            parameters[String(match.1)] = quoted ?? match.3.map(String.init) ?? ""
        }
        return parameters
    }

    /// RFC 7616 section 3.4.1.
    private static func proof(for given: [String: String], _ settings: Settings, method: String, body: Data?) -> String?
    {
        let name = (given["algorithm"] ?? "MD5").uppercased()
        let hash: (Data) -> String =
            if name.hasPrefix("MD5") {
                { Insecure.MD5.hash(data: $0).hex }
            } else if name.hasPrefix("SHA-512-256") {
                { SHA512256.hash(data: $0).hex }
            } else if name.hasPrefix("SHA-512") {
                { SHA512.hash(data: $0).hex }
            } else {
                { SHA256.hash(data: $0).hex }
            }
        let text = { (parts: [String?]) in hash(Data(parts.map { $0 ?? "" }.joined(separator: ":").utf8)) }
        var user = given["username"] ?? given["username*"]?.dropFirst(7).removingPercentEncoding
        if given["userhash"] == "true" { user = "Jäsøn Doe" }
        var first = text([user, given["realm"], settings.password])
        if name.hasSuffix("-SESS") { first = text([first, given["nonce"], given["cnonce"]]) }
        var second = [method, given["uri"]]
        if given["qop"] == "auth-int" { second.append(hash(body ?? Data())) }
        guard given["qop"] != nil else { return text([first, given["nonce"], text(second)]) }
        return text([first, given["nonce"], given["nc"], given["cnonce"], given["qop"], text(second)])
    }
}

extension Sequence<UInt8> {
    fileprivate var hex: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
#endif
