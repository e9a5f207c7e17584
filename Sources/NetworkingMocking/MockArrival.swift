import FoundationForNetworking
import NetworkingCore

extension HTTPRequestData {
    /// Reads the body into memory, as a server would, and reports the upload progress.
    mutating func arrive() async throws -> TransferProgress {
        var progress = TransferProgress(sent: bytesToSend)
        progressHandler?(progress)
        guard let body else { return progress }
        var bytes = Data()
        if let data = body.data {
            bytes = data
        } else {
            for try await chunk in body.chunks {
                bytes.append(chunk)
                progress.sent.count = Int64(bytes.count)
                if progress.sent.count != progress.sent.expected {
                    progressHandler?(progress)
                }
            }
            self.body = .data(bytes, contentType: body.contentType ?? "application/octet-stream")
        }
        progress.sent = BytesSent(count: Int64(bytes.count), expected: Int64(bytes.count))
        if !bytes.isEmpty {
            progressHandler?(progress)
        }
        return progress
    }
}
