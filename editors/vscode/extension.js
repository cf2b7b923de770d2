// Starts `visim dap` for each debugging session; everything else is the adapter's.
const vscode = require("vscode");

class Factory {
    createDebugAdapterDescriptor() {
        const command = vscode.workspace.getConfiguration("visim").get("command", "visim");
        return new vscode.DebugAdapterExecutable(command, ["dap"]);
    }
}

exports.activate = (context) => {
    context.subscriptions.push(
        vscode.debug.registerDebugAdapterDescriptorFactory("visim", new Factory())
    );
};
