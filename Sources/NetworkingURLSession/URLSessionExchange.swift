#if URLSession
import Foundation
import NetworkingCore
import NetworkingTrust
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import Synchronization

/// One request in progress over URLSession, with the data that has arrived, the waiter, and the outcome.
///
/// The exchange is the delegate of its task. URLSession calls it on its own queue; the sending task waits for the head,
/// for bytes or for the end. The first outcome counts: the server's response, an error, a limit, or the
/// cancellation of the caller. A cancelled caller is resumed at once, without waiting for URLSession.
///
/// On Linux, all sessions of the process share one queue. Work that does not need that queue, such as reading header
/// fields and choosing the error, is therefore done in the sending task.
final class URLSessionExchange: NSObject, Sendable {
    /// The maximum number of bytes that are kept in memory for a sink.
    private static let maximumInMemory = 1 << 20

    let request: HTTPRequestData
    let cookies: URLSessionCookies?
    let upload: URLSessionUpload?
    /// The Accept-Encoding of the session; `nil` if it requests no codings.
    let sessionAcceptEncoding: String?
    let trust: URLSessionTrust?
    /// The pins and the identity that the connection needs.
    let host: HostTrust?
    private let calls: URLSessionCalls
    let load: URLSessionCalls.Load
    /// The bytes of the body that the sending task has not taken yet.
    let body: SpillBuffer
    let state: Mutex<State>

    /// The queue for calls to progress handlers and observers; `nil` if none needs events.
    ///
    /// URLSession's queue is not suitable: on Linux every call into any session waits for it, so code of the app could
    /// block the whole process from there. The sending task is also resumed through this queue, so that it never
    /// overtakes the last report.
    let reports: DispatchQueue?

    init(
        request: HTTPRequestData,
        cookies: URLSessionCookies?,
        upload: URLSessionUpload?,
        acceptEncoding: String? = nil,
        trust: URLSessionTrust? = nil,
        host: HostTrust? = nil,
        calls: URLSessionCalls = .shared
    ) {
        self.request = request
        self.cookies = cookies
        self.upload = upload
        sessionAcceptEncoding = acceptEncoding
        self.trust = trust
        self.host = host
        self.calls = calls
        load = URLSessionCalls.Load(on: calls)
        let body = SpillBuffer(inMemoryUpTo: request.sink == nil ? .max : Self.maximumInMemory)
        self.body = body
        // Without a sink, the whole body is collected, so its limit applies from the first byte.
        state = Mutex(
            State(
                limit: request.sink == nil ? request.maximumResponseBytes : .max,
                decompressionLimit: request.decompressionLimit,
                bytesToSend: upload?.length ?? 0,
                body: body
            )
        )
        let isObserved = request.progressHandler != nil || request.isObserved
        reports = isObserved ? DispatchQueue(label: "URLSessionExchange.reports") : nil
    }

    /// Creates and starts the task, unless the exchange has ended by then.
    ///
    /// Does not wait for URLSession; ``respond()`` waits for the response.
    ///
    /// - Parameter makeTask: Creates the task. Called at most once, on a thread where that call may block.
    func start(_ makeTask: @escaping @Sendable () -> URLSessionTask) {
        if upload?.length ?? 0 > 0 {
            // The first bytes of the body that are sent are the only sign from URLSession that it has connected.
            request.emit(ExchangeEvent.connecting)
        }
        reportProgress()
        load.begin()
        calls.start { [self] in
            guard state.withLock({ $0.outcome == nil }) else {
                load.end()
                return
            }
            let task = makeTask()
            let isOver = state.withLock { state in
                guard state.outcome == nil else { return true }
                state.task = task
                return false
            }
            if isOver {
                // A task that is never resumed remains in its session unless it is cancelled.
                task.cancel()
                load.end()
                return
            }
            task.resume()
            if state.withLock({ $0.start() }) {
                cancel(task)
            }
        }
    }
}

extension URLSessionExchange {
    /// Makes the exchange of a request, as a task of a session that can run exchanges.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: The session.
    ///   - trust: The servers to trust; `nil` for those of the platform.
    ///   - host: The pins and the identity that the connection needs; `nil` if there are none.
    ///   - calls: The queue for calls into URLSession.
    /// - Returns: The response.
    /// - Throws: The errors of ``URLSessionTransport/exchange(_:)``.
    static func response(
        to request: HTTPRequestData,
        over session: URLSession,
        trust: URLSessionTrust? = nil,
        host: HostTrust? = nil,
        calls: URLSessionCalls = .shared
    ) async throws -> HTTPResponseData {
        #if canImport(FoundationNetworking)
        try request.refuseEnvironmentProxy()
        #endif
        var urlRequest = try URLRequest(request, asksForCodings: session.acceptEncoding != nil)
        // A jar of the stack replaces the session's storage.
        let cookies = request.areCookiesHandled ? nil : session.cookiesForExchanges
        cookies?.add(to: &urlRequest, of: request)
        let upload = try await request.body?.upload(for: request)
        let exchange = URLSessionExchange(
            request: request,
            cookies: cookies,
            upload: upload,
            acceptEncoding: session.acceptEncoding,
            trust: trust,
            host: host,
            calls: calls
        )
        exchange.start { [urlRequest] in session.task(for: exchange, with: urlRequest, sending: upload) }
        defer { exchange.reportTrust() }
        do {
            let response = try await exchange.respond()
            await upload?.discard()
            return response
        } catch {
            await upload?.discard()
            throw error
        }
    }
}

// MARK: - Waiting and ending

extension URLSessionExchange {
    /// Waits until a milestone is reached or the exchange has ended, and until the reports so far have been made.
    func wait(for milestone: Milestone) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isReached, outcome) = state.withLock { state in
                    if state.hasReached(milestone) { return (true, state.outcome) }
                    state.waiter = (milestone, continuation)
                    return (false, nil)
                }
                if isReached {
                    resume(continuation, after: outcome)
                }
            }
        } onCancel: {
            end(with: .cancelled)
        }
    }

    /// Ends the exchange, unless it has already ended.
    func end(with outcome: Outcome) {
        guard let (waiter, task) = state.withLock({ $0.end(with: outcome) }) else { return }
        resume(waiter, after: outcome)
        if let task {
            cancel(task)
        } else {
            load.end()
        }
    }

    private func cancel(_ task: URLSessionTask) {
        calls.interrupt { [self] in
            task.cancel()
            load.end()
        }
    }

    /// Resumes a waiter after the reports so far; at once if its caller was cancelled, since a report may block.
    func resume(_ waiter: CheckedContinuation<Void, Never>?, after outcome: Outcome? = nil) {
        guard let waiter else { return }
        if case .cancelled = outcome {
            waiter.resume()
        } else if let reports {
            reports.async { waiter.resume() }
        } else {
            waiter.resume()
        }
    }

    /// Replies to a challenge for which URLSession is waiting.
    func reply(_ call: @escaping @Sendable () -> Void) {
        calls.interrupt(call)
    }
}
#endif
