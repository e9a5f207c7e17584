import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// Stores the cookies that the responses to one request set, and reports them.
final class CookieReceipt: Sendable {
    private let jar: CookieJar
    /// The request as it is sent.
    private let request: HTTPRequestData
    private let owner: CookieOwner
    private let hadCookies: Bool
    /// The number of removals before the cookies of the request were chosen.
    private let removalCount: UInt64
    /// The fields that were stored when the head arrived.
    private let early = Mutex<[String]>([])

    init(
        _ jar: CookieJar,
        of owner: CookieOwner,
        for request: HTTPRequestData,
        hadCookies: Bool,
        since removalCount: UInt64
    ) {
        self.jar = jar
        self.owner = owner
        self.request = request
        self.hadCookies = hadCookies
        self.removalCount = removalCount
    }

    /// Stores the cookies of a head, unless the user of the request has changed.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - user: Returns the principal that the request would be sent for now.
    func receive(_ head: HTTPResponse, user: () -> Principal?) {
        let fields = head.headerFields[values: .setCookie]
        guard !fields.isEmpty, user() == owner.principal else { return }
        early.withLock { $0 = fields }
        store(fields, from: request, for: owner)
    }

    /// Stores the cookies of a response, unless they were stored when its head arrived.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - user: Returns the principal that the request was sent for, if nobody was signed in and the response
    ///     has credentials and names no principal.
    func receive(_ response: HTTPResponseData, user: () -> Principal?) {
        guard response.headerFields.contains(.setCookie) else { return }
        let fields = response.headerFields[values: .setCookie]
        guard early.withLock({ $0 != fields }) else { return }
        // The response is from another URL if a component further in has followed a redirect.
        let source = response.sentRequest.authority == nil ? request : response.sentRequest
        let isUnnamed =
            owner.principal == nil && response.principal == nil && response.hasCredentials(notIn: request)
        let principal = isUnnamed ? user() : response.principal?.withoutCookies
        guard let user = principal, user != owner.principal else {
            return store(fields, from: source, for: owner)
        }
        guard !hadCookies else {
            for _ in fields {
                request.emit(CookieEvent.rejected(.otherPrincipal))
            }
            return
        }
        store(fields, from: source, for: CookieOwner(principal: user, credentials: owner.credentials))
    }

    private func store(_ fields: [String], from source: HTTPRequestData, for owner: CookieOwner) {
        let (stored, rejections) = jar.store(fields, from: source, for: owner, since: removalCount)
        if stored > 0 {
            request.emit(CookieEvent.stored(count: stored))
        }
        for rejection in rejections {
            request.emit(CookieEvent.rejected(rejection))
        }
    }
}

/// A sink that passes each head to a closure, before the wrapped sink decides about it.
///
/// The cookies of a head do not wait for the body, which may take hours and end with an error.
final class CookieSink: ForwardingSink {
    let sink: any ResponseSink
    private let onHead: Mutex<(@Sendable (HTTPResponse) -> Void)?>

    init(sink: any ResponseSink, onHead: @escaping @Sendable (HTTPResponse) -> Void) {
        self.sink = sink
        self.onHead = Mutex(onHead)
    }

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        onHead.withLock { $0 }?(head)
        return try await sink.offer(head)
    }

    /// Releases the closure, because a listener of the stack may keep the request and this sink.
    func end() {
        onHead.withLock { $0 = nil }
    }
}
