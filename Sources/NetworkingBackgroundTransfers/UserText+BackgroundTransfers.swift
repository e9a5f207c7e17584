import NetworkingCore

extension UserText {
    /// The texts of this module's errors.
    static let backgroundTransfers = [failedTransfer, cancelledTransfer]

    static let failedTransfer = UserText(
        key: "transfer.failed",
        description: "The transfer failed.",
        reason: "The system ended the transfer.",
        suggestion: "Start the transfer again."
    )
    static let cancelledTransfer = UserText(
        key: "transfer.cancelled",
        description: "The transfer was cancelled.",
        reason: "The transfer was stopped before its end.",
        suggestion: "Start the transfer again."
    )
}
