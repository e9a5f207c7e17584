import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension LawCheck {
    func letsGo() async throws {
        let stack = stack(around: Probe { HTTPResponseData(request: $0, data: Data("body".utf8)) })
        let (sink, handler) = await sendAndForget(over: stack)
        try require(await eventually { sink.object == nil }, "The sink of a request is kept after the request is over.")
        try require(
            await eventually { handler.object == nil },
            "The progress handler of a request is kept after the request is over."
        )
        // It is the stack that must not keep them, so it has to be there until now.
        withExtendedLifetime(stack) {}
        let upstream = await sendAndForgetStack()
        try require(await eventually { upstream.object == nil }, "The upstream is kept after the stack is gone.")
    }

    private func sendAndForget(over stack: some NetworkingComponent) async -> (Weak, Weak) {
        let (sink, handler) = (CollectingSink(), Kept())
        var request = request.filling(sink)
        request.progressHandler = { _ in withExtendedLifetime(handler) {} }
        _ = try? await stack.send(request)
        return (Weak(object: sink), Weak(object: handler))
    }

    private func sendAndForgetStack() async -> Weak {
        let upstream = Kept()
        let probe = Probe { request in withExtendedLifetime(upstream) { HTTPResponseData(request: request) } }
        _ = try? await stack(around: probe).send(request)
        return Weak(object: upstream)
    }
}

private final class Kept: Sendable {}

private struct Weak {
    weak var object: (any AnyObject & Sendable)?
}
