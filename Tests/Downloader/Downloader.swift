#if URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import Networking
import NetworkingAsyncHTTPClient

/// Downloads a URL to a file and prints how far it is, for tests that kill it, limit it or measure it.
///
/// It also ends with its standard input.
///
/// Arguments: the transport, the URL and the file; then, if wished, the most bytes that a file may have. Without that
/// argument and with `quiet` in its place, only the end is told. Each line of its output is one of these:
///
/// - `arrived 65536`: so many bytes have come from the transport in this exchange, whether they are written or not
/// - `kept 65536`: so many are in the file, from its first on
/// - `done 67108864 65536`: how many there are, and how many of them were there before
/// - `failed storage …`: the kind of the error and its description
/// - `peak 12345678`: the most memory that the process has had, in bytes
@main
enum Downloader {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 4, let url = URL(string: arguments[2]) else {
            fatalError("usage: Downloader URLSession|AsyncHTTPClient <url> <file> [quiet|<most bytes of a file>]")
        }
        endWithParent()
        if arguments.count > 4, let most = rlim_t(arguments[4]) {
            limitFiles(to: most)
        }
        let isQuiet = arguments.last == "quiet"
        let file = URL(fileURLWithPath: arguments[3])
        let isOver: Bool
        if arguments[1] == "URLSession" {
            isOver = await download(url, to: file, over: URLSessionTransport(configuration: .ephemeral), isQuiet)
        } else {
            let transport = AsyncHTTPClientTransport()
            isOver = await download(url, to: file, over: transport, isQuiet)
            try await transport.shutdown()
        }
        tell("peak \(peakMemory())")
        exit(isOver ? 0 : 1)
    }

    /// Ends this process when its standard input ends, which it does with the process of the tests, however that ends.
    private static func endWithParent() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(1)
        }
    }

    private static func download(
        _ url: URL,
        to file: URL,
        over transport: some NetworkingComponent,
        _ isQuiet: Bool
    ) async -> Bool {
        do {
            let request = HTTPRequestData(url: url)
            let downloaded =
                isQuiet
                ? try await transport.download(request, to: file)
                : try await transport.modified(TellArrivals())
                    .download(request, to: file) { tell("kept \($0.received.count)") }
            tell("done \(downloaded.byteCount) \(downloaded.resumedByteCount)")
            return true
        } catch let error as NetworkingError {
            tell("failed \(error.kind) \(error)")
        } catch {
            tell("failed unknown \(error)")
        }
        return false
    }

    /// Makes a write beyond a length fail, as it does on a full disk.
    private static func limitFiles(to most: rlim_t) {
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: most, rlim_max: most)
        guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else {
            fatalError("The limit on files could not be set.")
        }
    }

    /// Writes a line at once, and not through a buffer that would end with the process.
    fileprivate static func tell(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }

    private static func peakMemory() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0) << 10
    }
}

/// Tells what comes from the transport, which may be more than is written yet.
private struct TellArrivals: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        request.progressHandler = { Downloader.tell("arrived \($0.received.count)") }
        return try await upstream.send(request)
    }
}
#else
@main
enum Downloader {
    static func main() {}
}
#endif
