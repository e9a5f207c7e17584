import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension LawCheck {
    func goesOn() async throws {
        struct Failed: Error {}
        let number = Counter()
        let held = HeldProbe()
        let stack = stack(
            around: Probe { request in
                number.increase()
                switch number.value {
                case 1: return try await held.send(request)
                case 2: throw Failed()
                default: return HTTPResponseData(request: request)
                }
            }
        )
        let cancelled = LawCall(request, over: stack)
        // One that sends nothing, or is not cancelled, breaks another law.
        guard await eventually({ held.count > 0 }) else { return }
        cancelled.cancel()
        guard await cancelled.ends() else { return held.letGo(with: request) }
        try await expectEnd(of: LawCall(request, over: stack), after: "was cancelled")
        let next = LawCall(request, over: stack)
        try await expectEnd(of: next, after: "failed")
        guard case .success = await next.result else {
            throw BrokenLaw("After a request that was cancelled and one that failed the next fails, which is answered.")
        }
    }

    private func expectEnd(of call: LawCall, after event: String) async throws {
        if await !call.ends() {
            call.cancel()
            throw BrokenLaw("After a request that \(event) the next waits for ever.")
        }
    }

    /// Two of each, since those that ask for the same may share an answer, and still are callers of their own.
    func keepsCallersApart() async throws {
        let stack = stack(
            around: Probe { request in
                await Task.yield()
                return HTTPResponseData(request: request, data: Data((request.query.caller ?? "").utf8))
            }
        )
        let calls = (0..<6)
            .map { index in
                var request = request
                request.query.caller = "\(index / 2)"
                // Labels tell them apart, and a copy would have the same.
                let own = index.isMultiple(of: 2) ? request : request.relabelled
                return (request: own, call: LawCall(own, over: stack))
            }
        for (request, call) in calls {
            guard await call.ends() else {
                for (_, call) in calls {
                    call.cancel()
                }
                throw BrokenLaw("One of several callers at the same time waits for ever.")
            }
            guard case .success(let response) = await call.result else {
                throw BrokenLaw("One of several callers at the same time fails.")
            }
            try require(
                response.data == Data((request.query.caller ?? "").utf8) && response.isAnswer(to: request),
                "One of several callers at the same time gets the response to another's request."
            )
        }
    }
}
