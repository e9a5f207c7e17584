import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization

/// The servers of a random stack: they issue tokens, and each response names the user that it is for.
///
/// Every secret in the simulation contains ``secret``, so that it is found wherever it does not belong.
final class SimulatedBackend: Sendable {
    static let secret = "s3cr3t"
    static let authority = "api.example"
    /// The hosts that may receive credentials.
    static let trusted: Set = [authority, "a.example", "b.example"]
    /// The user of a response that is the same for all users.
    static let everybody = "everybody"
    static let anonymous = "anonymous"

    private struct State {
        var lastNumber = 0
        var isHealthy = false
        /// The users of the refresh tokens that have not been used.
        var refreshTokens: [String: String] = [:]
        /// The dates at which access tokens expire.
        var accessTokens: [String: Duration] = [:]
        /// The call that has sent each idempotency key.
        var keys: [String: Int] = [:]
    }

    private let draws: Draws
    private let report: @Sendable (Violation) -> Void
    private let state = Mutex(State())

    init(seed: UInt64, report: @escaping @Sendable (Violation) -> Void) {
        draws = Draws(seed, 3)
        self.report = report
    }

    /// Ends all failures and delays.
    func heal() {
        state.withLock { $0.isHealthy = true }
    }

    // MARK: Tokens

    /// Returns a session of a user, as a login does.
    func session(of user: String, named: Bool) -> Session {
        let now = NetworkEnvironment.current.clock.now
        let (lifetime, number) = state.withLock { state in
            state.lastNumber += 1
            return (state.isHealthy ? .seconds(10_000) : draws.milliseconds(200...20_000), state.lastNumber)
        }
        let (access, refresh) = ("\(Self.secret)-\(user)-\(number)", "\(Self.secret)-\(user)-refresh-\(number)")
        state.withLock { state in
            state.accessTokens[access] = now + lifetime
            state.refreshTokens[refresh] = user
        }
        return Session(
            userID: named ? user : nil,
            accessToken: access,
            refreshToken: refresh,
            expirationDate: NetworkEnvironment.current.clock.date.addingTimeInterval(lifetime / .seconds(1))
        )
    }

    /// Returns the user in a token, a cookie or a validator.
    static func user(in text: String) -> String? {
        let parts = text.split(separator: "-")
        return parts.count > 1 ? String(parts[1]) : nil
    }

    /// Ends the access tokens of a user.
    func revoke(_ user: String) {
        state.withLock { state in
            state.accessTokens = state.accessTokens.filter { Self.user(in: $0.key) != user }
        }
    }

    // MARK: Responses

    func respond(to request: HTTPRequestData) -> MockResponse {
        let isTrusted = request.scheme == "https" && Self.trusted.contains(request.authority ?? "")
        if !isTrusted {
            let fields = request.headerFields.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
            if fields.contains(Self.secret) || (request.url?.absoluteString ?? "").contains(Self.secret) {
                report(Violation(.foreignServer, "\(request.authority ?? "") received: \(fields)"))
            }
            return MockResponse(status: .ok, data: Data("user=\(Self.everybody);".utf8))
        }
        let response = request.path == "/refresh" ? renew(request) : content(for: request)
        let isHealthy = state.withLock { $0.isHealthy }
        return isHealthy ? response : response.delayed(by: draws.milliseconds(1...draws.pick([20, 200, 2_000])))
    }

    private func renew(_ request: HTTPRequestData) -> MockResponse {
        let token = request.body?.data.map { String(decoding: $0, as: UTF8.self) }?.split(separator: "\"").dropFirst(3)
            .first
        guard let token = token.map({ String($0) }), let user = state.withLock({ $0.refreshTokens[token] }) else {
            return .status(.badRequest)
        }
        if request.headerFields[.authorization] != nil {
            report(Violation(.credentials, "A refresh was sent with an access token."))
        }
        // A token can be used once.
        state.withLock { $0.refreshTokens[token] = nil }
        let session = session(of: user, named: false)
        let seconds = session.expirationDate?.timeIntervalSince(NetworkEnvironment.current.clock.date) ?? 0
        let text = #"{"access_token":"\#(session.accessToken)","refresh_token":"\#(session.refreshToken ?? "")","#
        return .json(text: text + #""expires_in":\#(seconds)}"#)
    }

    private func content(for request: HTTPRequestData) -> MockResponse {
        let call = request.simulatedCall
        let token = request.headerFields[.authorization].map { String($0.dropFirst("Bearer ".count)) }
        let owner = token.flatMap { Self.user(in: $0) }
        check(request, of: call, owner: owner)
        let (isHealthy, number, expiry) = state.withLock { state in
            state.lastNumber += 1
            return (state.isHealthy, state.lastNumber, token.flatMap { state.accessTokens[$0] })
        }
        if !isHealthy, draws.chance(0.06) {
            let status = draws.pick([HTTPResponse.Status.internalServerError, .serviceUnavailable, .tooManyRequests])
            return .status(status, headerFields: draws.chance(0.5) ? [.retryAfter: "1"] : [:])
        }
        if request.headerFields[.contentEncoding] != nil {
            return .status(.unsupportedMediaType, headerFields: [.acceptEncoding: "identity"])
        }
        let isExpired = token != nil && expiry.map { $0 <= NetworkEnvironment.current.clock.now } ?? true
        let path = (request.path ?? "").prefix { $0 != "?" }
        if isExpired || owner == nil && path.hasPrefix("/private") {
            return .status(.unauthorized, headerFields: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
        }
        switch path {
        case "/public/moved": return .redirect(to: "/private/a")
        case "/public/away": return .redirect(to: "https://other.example/private/a", status: .temporaryRedirect)
        case "/public/plain": return .redirect(to: "http://api.example/private/a")
        default: return document(for: request, at: String(path), owner: owner, number: number)
        }
    }

    private func document(
        for request: HTTPRequestData,
        at path: String,
        owner: String?,
        number: Int
    ) -> MockResponse {
        let user = path.hasPrefix("/public") ? Self.everybody : owner ?? Self.anonymous
        let holder = request.simulatedCall?.holder ?? Self.anonymous
        let language = request.headerFields[.acceptLanguage] ?? ""
        let body = request.body?.data.map { String(decoding: $0, as: UTF8.self) } ?? ""
        // The same document for a while, so that it can be validated.
        let etag = "\"v-\(user)-\(path.dropFirst())-\(language)-\(body)-\(number / 4)\""
        let lifetime = draws.pick(["max-age=0", "max-age=2", "max-age=1, stale-while-revalidate=5", "no-cache"])
        var fields: HTTPFields = [
            .contentType: "text/plain", .eTag: etag, .vary: "Accept-Language",
            .cacheControl: (user == Self.everybody ? "public, " : "") + lifetime,
        ]
        if draws.chance(0.2) { fields[.cacheControl] = "private, max-age=60" }
        if draws.chance(0.3), request.simulatedCall?.hasKnownHolder != false {
            let cookie = "\(Self.secret)-\(holder)-cookie-\(number)"
            fields.append(HTTPField(name: .setCookie, value: "session=\(cookie); Path=/; Secure"))
        }
        if request.method == .get, let known = request.headerFields[.ifNoneMatch] {
            if let other = Self.user(in: known), other != user {
                report(Violation(.credentials, "\(owner ?? "nobody") sends the validator \(known)"))
            }
            if known == etag { return .status(.notModified, headerFields: fields) }
        }
        let text = "user=\(user);path=\(path);language=\(language);body=\(body);number=\(number)"
        return .ok(Data(text.utf8), headerFields: fields)
    }

    /// Checks that everything in a request belongs to the user of its call.
    private func check(_ request: HTTPRequestData, of call: SimulatedCall?, owner: String?) {
        guard let call else { return report(Violation(.anonymousWork, "\(request) belongs to no call.")) }
        if let owner, let user = call.settle(owner), user != owner {
            report(Violation(.credentials, "Call \(call.number) of \(user) is sent with a token of \(owner)."))
        }
        if owner != nil, call.isAnonymous {
            report(Violation(.credentials, "Call \(call.number) is anonymous and is sent with a token."))
        }
        for cookie in (request.headerFields[.cookie] ?? "").split(separator: ";") {
            let user = Self.user(in: String(cookie)) ?? ""
            // The cookies of a call are chosen before it gets a user.
            if user == Self.anonymous, call.beganWithoutUser { continue }
            // The first credentials of a call without a user determine its user, because users also sign in later.
            if user != Self.anonymous, !call.isAnonymous { _ = call.settle(user) }
            let holder = call.holder
            if user != holder {
                report(Violation(.credentials, "Call \(call.number) of \(holder) is sent with a cookie of \(user)."))
            }
        }
        if call.hasEnded, !call.mayOutliveCaller {
            report(Violation(.sentAfterEnd, "\(request) is sent after the end of call \(call.number)."))
        }
        if let key = request.headerFields[.idempotencyKey] {
            let first = state.withLock { state in
                let first = state.keys[key] ?? call.number
                state.keys[key] = first
                return first
            }
            if first != call.number {
                report(Violation(.idempotency, "Calls \(first) and \(call.number) have the same key."))
            }
        }
    }
}
